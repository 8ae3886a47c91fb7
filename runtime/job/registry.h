#pragma once
// Registry: makes a job the job of this process.
//
// Role:      what Job::instance() returns from then on; without one, a singleton's.
// Users:     runtime/job (launch), and who brings a Job of its own.
// Threads:   before any rank starts; null again when the ranks have ended.

#include "runtime/job/job.h"

namespace mpc::job {

void set_current_job(Job* job) noexcept;

}  // namespace mpc::job
