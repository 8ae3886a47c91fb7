"""MrBayes: Bayesian inference of evolutionary trees by coupled Markov chains, which are spread over ranks."""
import hashlib

from model import Case, Program, Wrong

# Of its examples/, and a model for each.
INPUTS = {"primates": "lset nst=6 rates=invgamma", "cynmix": "", "finch": "", "avian_ovomucoids": ""}
STEPS = 1000
RUN = """#NEXUS
begin mrbayes;
  set autoclose=yes nowarnings=yes seed=42 swapseed=7;
  execute {name}.nex;
  {model};
  mcmcp ngen={steps} samplefreq=50 printfreq=500 diagnfreq=500 nruns={runs} nchains=4 filename=out;
  mcmc;
end;
"""


def build(tree):
    tree.configure("--with-mpi", "--without-beagle", "--without-readline", "CFLAGS=-O1 -w")
    tree.make()


def samples(text, folder):
    """Digests of the samples of all chains: likelihoods, parameters, trees."""
    if "Analysis completed" not in text:
        raise Wrong("it does not say that the analysis is completed")
    # Their first line has an identification that contains the time.
    out = {path.name: hashlib.sha256(b"".join(path.read_bytes().splitlines(True)[1:])).hexdigest()[:16]
           for path in sorted(folder.glob("out.run*.[pt]"))}
    if not out:
        raise Wrong("it wrote no samples")
    return out


def cases(folder, ranks):
    runs = max(2, ranks // 4)       # each has four chains, and no rank may be without one
    return [Case(name, folder / "src/mb", ["in.nex"], results=samples, links={f"{name}.nex": folder / f"examples/{name}.nex"},
                 files={"in.nex": RUN.format(name=name, model=model, steps=STEPS, runs=runs)})
            for name, model in INPUTS.items()]


PROGRAM = Program("mrbayes", "mrbayes", "Bayesian inference of evolutionary trees: coupled Markov chains on ranks",
                  "All samples of the chains are equal, character by character.", build, cases)
