"""Readers see one publication, whole, whatever the writer does meanwhile and wherever it dies."""

import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pbt.errors import EngineError
from pbt.transport.memory import Region
from pbt.transport.weights import PublishedWeights, published_bytes
from tests.pbt.transport.programs import example_weights, heard, start, tell


def region_for(template: Mapping[str, Tensor]) -> Region:
    return Region.create("weights", published_bytes(template))


def number_in(weights: Mapping[str, Tensor]) -> int:
    """The one number that fills all tensors."""
    numbers = {
        float(value) for tensor in weights.values() for value in (tensor.min(), tensor.max())
    }
    assert len(numbers) == 1, f"a mixture of {sorted(numbers)}"
    return int(numbers.pop())


@pytest.mark.parametrize("shared", [False, True])
def test_publications_are_read_back(shared: bool) -> None:
    template = example_weights(0)
    region = region_for(template) if shared else None
    writer = PublishedWeights(template, region)
    reader = PublishedWeights(template, region, owner=False) if shared else writer
    assert (reader.publications, reader.version, number_in(reader.read())) == (0, 0, 0)
    for publication in range(1, 6):
        attested = publication % 2 == 0
        writer.publish(example_weights(publication), 100 - publication, attested=attested)
        target = example_weights(-1)
        assert reader.copy_into(target) == (publication, 100 - publication, attested)
        assert number_in(target) == publication == reader.publications
        assert reader.version == 100 - publication
        assert number_in(reader.read()) == publication
    assert all(tensor.dtype == template[name].dtype for name, tensor in reader.read().items())
    for prefix in {name[:2] for name in template}:
        some = reader.read(prefix)
        assert list(some) == [name for name in template if name.startswith(prefix)]
        assert number_in(some) == 5
    assert reader.read("none of them") == {}


def test_only_the_tensors_that_are_asked_for_are_copied_wherever_they_stand() -> None:
    random = {name: torch.rand(tensor.shape) for name, tensor in example_weights(0).items()}
    published = PublishedWeights(random, region_for(random))
    names = list(random)
    for asked in (names[:2], names[1::2], names[::-1], [names[3]], []):
        target = {name: torch.full(random[name].shape, -1.0) for name in asked}
        published.copy_into(target)
        assert target.keys() == set(asked)
        assert all(torch.equal(tensor, random[name]) for name, tensor in target.items())
    # Models on other devices or in other precisions take what fits them; views of one flat vector
    # as well.
    flat = torch.zeros(300 * 70 + 1, dtype=torch.float64)
    published.copy_into({"adam.a": flat[1:].view(300, 70)})
    assert torch.equal(flat[1:].float(), random["adam.a"].flatten())


def test_what_does_not_fit_is_refused_by_name() -> None:
    template = example_weights(0)
    published = PublishedWeights(template, region := region_for(template))
    with pytest.raises(EngineError, match=r"1 tensors are missing, the first is adam.step"):
        published.publish(
            {name: tensor for name, tensor in template.items() if name != "adam.step"}, 1
        )
    with pytest.raises(EngineError, match=r"model.b is \[8\]; expected \[7\]"):
        published.publish({**template, "model.b": torch.zeros(8)}, 1)
    with pytest.raises(EngineError, match="found no model.c; expected one of model.a, model.b"):
        published.copy_into({"model.c": torch.zeros(1)})
    for other in (
        {**template, "model.b": torch.zeros(7, 1)},
        {**template, "model.b": torch.zeros(7, dtype=torch.int32)},
        {name.upper(): tensor for name, tensor in template.items()},
    ):
        with pytest.raises(EngineError, match="found weights of other names or shapes"):
            PublishedWeights(other, region, owner=False)
    with pytest.raises(EngineError, match="found no weights"):
        PublishedWeights(template, region_for(template), owner=False)
    with pytest.raises(EngineError, match="were asked of shared memory"):
        PublishedWeights(template, Region.create("weights", published_bytes(template) - 64))


class DiesAt(Mapping[str, Tensor]):
    """Weights whose writer is interrupted when it comes to a certain tensor."""

    def __init__(self, weights: dict[str, Tensor], fatal: str) -> None:
        self._weights, self._fatal = weights, fatal

    def __getitem__(self, name: str) -> Tensor:
        if name == self._fatal:
            raise KeyboardInterrupt
        return self._weights[name]

    def __contains__(self, name: object) -> bool:
        return name in self._weights

    def __iter__(self) -> Iterator[str]:
        return iter(self._weights)

    def __len__(self) -> int:
        return len(self._weights)


@pytest.mark.parametrize("fatal", list(example_weights(0)))
def test_a_publication_that_was_begun_and_not_finished_does_not_exist(fatal: str) -> None:
    template = example_weights(0)
    writer, region = None, region_for(template)
    writer = PublishedWeights(template, region)
    writer.publish(example_weights(1), 11)
    with pytest.raises(KeyboardInterrupt):
        writer.publish(DiesAt(example_weights(2), fatal), 12)
    reader = PublishedWeights(template, region, owner=False)
    assert (reader.publications, reader.version, number_in(reader.read())) == (1, 11, 1)
    # The next writer goes on.
    PublishedWeights(template, region, owner=False).publish(example_weights(3), 13)
    assert (reader.publications, reader.version, number_in(reader.read())) == (2, 13, 3)


class Overtaken(Tensor):
    """Memory whose reader is held up in the middle of a copy, while others act."""

    meanwhile: list[Callable[[], None]]

    def __setitem__(self, key: Any, value: Any) -> None:
        middle = (key.start + key.stop) // 2
        super().__setitem__(slice(key.start, middle), value[: middle - key.start])
        if self.meanwhile:
            self.meanwhile.pop(0)()
        super().__setitem__(slice(middle, key.stop), value[middle - key.start :])


@pytest.mark.parametrize("publications", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("interrupted", [False, True])
def test_a_reader_that_is_overtaken_reads_again(publications: int, interrupted: bool) -> None:
    template = example_weights(0)
    writer = PublishedWeights(template, region := region_for(template))
    reader = PublishedWeights(template, region, owner=False)
    number = 0

    def publish_some() -> None:
        nonlocal number
        for _ in range(publications):
            number += 1
            writer.publish(example_weights(number), 10 * number)
        if interrupted:
            with pytest.raises(KeyboardInterrupt):
                writer.publish(DiesAt(example_weights(99), "clocks"), 99)

    scratch = reader._scratch.as_subclass(Overtaken)
    scratch.meanwhile = [publish_some, publish_some, publish_some]
    reader._scratch = scratch
    for _ in range(2):
        target = example_weights(-1)
        found, version, _ = reader.copy_into(target)
        assert (number_in(target), version) == (found, 10 * found)
    assert (reader.publications, reader.version) == (number, 10 * number)


def read_until_it_moved(
    reader: PublishedWeights, writers: subprocess.Popen[str], reads: int
) -> None:
    """Read until `reads` reads found something new; each must be of one whole publication."""
    seen = reader.publications
    weights = example_weights(0)
    while reads:
        publications, version, _ = reader.copy_into(weights)
        assert number_in(weights) == publications >= seen
        assert version == 10 * publications
        reads -= publications > seen
        seen = publications
        assert not select.select([writers.stdout], [], [], 0)[0], "it has ended by itself"


def test_no_reader_sees_a_mixture_or_waits_while_writers_publish_and_are_killed() -> None:
    template, random = example_weights(0), np.random.default_rng(0)
    region = region_for(template)
    reader = PublishedWeights(template, region)
    with start("publish_forever", [region.fd], fd=region.fd, size=region.size) as writers:
        for _ in range(20):
            tell(writers)
            writer = int(heard(writers))
            read_until_it_moved(reader, writers, int(random.integers(2, 40)))
            os.kill(writer, signal.SIGKILL)
            assert int(heard(writers)) == signal.SIGKILL
            last = reader.publications
            weights = reader.read()
            assert number_in(weights) == last == reader.publications
            assert reader.version == 10 * last
