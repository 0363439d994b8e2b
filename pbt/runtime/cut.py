"""One cut of a whole population: everything needed to go on as if nothing had happened."""

import hashlib

from pbt.checkpoints import Checkpoint
from pbt.runtime.assembly import Population
from pbt.runtime.serial import SerialEngine
from pbt.sampling.saving import load_slab, load_worker, save_slab, save_worker


def take_cut(engine: SerialEngine, number: int) -> Checkpoint:
    """The state between two turns of the crank."""
    population = engine.population
    state = {
        "config": population.config.model_dump(mode="json"),
        "engine": engine.state(),
        "controller": population.controller.state(),
        "planner": population.planner.state(),
        "worker": save_worker(population.worker),
        "trainees": {trainee.name: trainee.batcher.state() for trainee in population.trainees},
    }
    tensors = {f"learner-{trainee.name}": trainee.learner.state() for trainee in population.trainees}
    for role, (slab, filler) in enumerate(zip(population.slabs, population.worker.fillers, strict=True)):
        tensors[f"slab-{role}"] = save_slab(slab, filler.pool.free_slots())
    return Checkpoint(number, state, tensors)


def restore_cut(engine: SerialEngine, checkpoint: Checkpoint) -> int:
    """Put a freshly assembled population into a saved state. Returns how many open games could not be replayed and were voided."""
    population, state = engine.population, checkpoint.state
    for role, slab in enumerate(population.slabs):
        load_slab(slab, checkpoint.tensors[f"slab-{role}"])
    population.planner.load(state["planner"])
    voided = load_worker(population.worker, state["worker"], population.planner, replayable=population.spec.replayable)
    for trainee in population.trainees:
        trainee.learner.load_state(checkpoint.tensors[f"learner-{trainee.name}"])
        trainee.batcher.load(state["trainees"][trainee.name])
        trainee.published.publish(trainee.learner.model.state_dict(), trainee.learner.version)
    population.controller.load(state["controller"])
    for trainee in population.trainees:
        trainee.learner.set_hyperparams(population.controller.members[trainee.name].typed_hyperparams)
    engine.load(state["engine"])
    return voided


def weights_digest(population: Population) -> str:
    """SHA-256 over every member's weights, in order: equal runs have equal digests."""
    digest = hashlib.sha256()
    for trainee in population.trainees:
        for name, tensor in sorted(trainee.learner.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
