# The service with its dashboard. `docker compose up` runs it; docs/service.md says how others reach
# it.
#
#   docker build -t pbt-arena .
#   docker build -t pbt-arena:gpu --build-arg TORCH=torch==2.13.* \
#       --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cu128 .

FROM node:22-bookworm-slim AS dashboard
WORKDIR /source
COPY docs/schemas/openapi.json docs/schemas/openapi.json
COPY web web
RUN cd web && npm ci && npm run types && npm run build

FROM python:3.12-slim-bookworm AS build
# The C compiler is for pbt/native. Without one the program works as well, and is slower.
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
ARG TORCH=torch==2.13.0+cpu
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN python -m venv /opt/arena && /opt/arena/bin/pip install --no-cache-dir --extra-index-url "$TORCH_INDEX" "$TORCH"
WORKDIR /source
COPY . .
COPY --from=dashboard /source/api/static/dashboard api/static/dashboard
RUN /opt/arena/bin/pip install --no-cache-dir .

FROM python:3.12-slim-bookworm
COPY --from=build /opt/arena /opt/arena
RUN useradd --uid 10001 --create-home arena && install -d -o arena -g arena /data
ENV PATH=/opt/arena/bin:/usr/local/bin:/usr/bin:/bin
ENV ARENA_DATA=/data
ENV PYTHONUNBUFFERED=1
USER arena
WORKDIR /data
VOLUME /data
EXPOSE 8642
# This signal saves and stops all trainings, as Ctrl-C does.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8642/readyz', timeout=4)"]
# Tokens are made at the first start: without them an address that others reach is refused.
ENTRYPOINT ["/bin/sh", "-c", "arena serve --make-tokens && exec arena serve --host 0.0.0.0 --port 8642 --log-format json \"$@\"", "arena-serve"]
# The names by which others call it, besides localhost:
#   docker run pbt-arena --allowed-host arena.example
CMD ["--allowed-host", "localhost"]
