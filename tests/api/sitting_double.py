"""A double for a process that plays a game by hand: it plays no game, but keeps the contract.

The contract is that of `arena.programs.play`: arguments, lines, leash, exit codes. Nothing is
stored. There are four moves in turn, the opponent's are always 0; the seat that moved first has
won. The opponent's name says what else it does: `refuses` and `breaks` end at once, `dies` ends at
the first move, `hangs` never answers one.
"""

import json
import select
import sys
import time

SEATS = ("player_0", "player_1")
MOVES, CHOICES = 4, 3


def say(**message: object) -> None:
    print(json.dumps(message), flush=True)


class Game:
    def __init__(self, asked: dict[str, object]) -> None:
        self.asked, self.mine = asked, int(str(asked["seat"]))
        self.moves: list[dict[str, object]] = []

    def move(self, action: int) -> None:
        seat, board = len(self.moves) % 2, f"{len(self.moves) + 1} moves"
        self.moves.append(
            {"seat": seat, "action": action, "name": None, "square": [None, action], "board": board}
        )

    def answer(self) -> None:
        while len(self.moves) < MOVES and len(self.moves) % 2 != self.mine:
            self.move(0)

    def tell(self, state: str, reason: str = "rules", places: tuple[int, int] = (0, 1)) -> None:
        person, opponent = (
            {"player": self.asked[key], "kind": kind, "id": self.asked[key]}
            for key, kind in (("name", "guest"), ("opponent", "scripted"))
        )
        players = [person, opponent] if self.mine == 0 else [opponent, person]
        legal = (
            [
                {"action": action, "name": None, "square": [None, action]}
                for action in range(CHOICES)
            ]
            if state == "turn"
            else []
        )
        result = (
            {"places": places, "reason": reason, "game": "1", "match": "1"}
            if state == "over"
            else None
        )
        seats = [{"seat": name, **player} for name, player in zip(SEATS, players, strict=True)]
        say(
            type="standing",
            state=state,
            env="double",
            seats=seats,
            grid=[1, CHOICES],
            start="0 moves",
            moves=self.moves,
            legal=legal,
            result=result,
        )

    def leave(self, why: str) -> int:
        if any(move["seat"] == self.mine for move in self.moves):
            self.tell("over", f"forfeit: {self.asked['name']} {why}", (1 - self.mine, self.mine))
        else:
            say(
                type="dropped",
                detail=f"{self.asked['name']} {why} before their first move; nothing is stored",
            )
        return 0


def play(idle_s: float, asked: dict[str, object]) -> int:
    if asked["opponent"] == "refuses":
        print("error: refuses plays with none", file=sys.stderr)
        return 2
    if asked["opponent"] == "breaks":
        print("error: broken", file=sys.stderr)
        return 1
    game = Game(asked)
    game.answer()
    game.tell("turn")
    while True:
        if not select.select([sys.stdin], [], [], idle_s)[0]:
            return game.leave(f"said nothing for {idle_s:g} s")
        line = sys.stdin.readline()
        if not line:
            return 130
        said = json.loads(line)
        if said.get("resign"):
            return game.leave("resigned")
        if asked["opponent"] == "dies":
            return 3
        if asked["opponent"] == "hangs":
            time.sleep(600)
        if said["at"] != len(game.moves):
            say(type="refused", kind="conflict", detail=f"{len(game.moves)} moves have been made")
        elif said["action"] not in range(CHOICES):
            say(type="refused", kind="invalid", detail=f"action {said['action']} is not legal now")
        else:
            game.move(said["action"])
            game.answer()
            game.tell("turn" if len(game.moves) < MOVES else "over")
            if len(game.moves) == MOVES:
                return 0


if __name__ == "__main__":
    sys.exit(play(float(sys.argv[2]), json.loads(sys.argv[3])))
