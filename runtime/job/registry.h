#pragma once
// Registry: makes a job the current job of this process.
//
// Role:      Job::instance() returns it from then on; without one, a singleton's.
// Users:     runtime/job (launch), and code that brings a Job of its own.
// Threads:   before any rank starts; null again when the ranks have ended.

#include "runtime/job/job.h"

namespace mpc::job {

void set_current_job(Job* job) noexcept;

}  // namespace mpc::job
