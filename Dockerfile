# worldgauge on a processor: the wheel, the arm's table drawn in software, no root. docs/install.md says how to use it.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
COPY requirements.lock ./
RUN pip install --no-cache-dir --constraint requirements.lock build hatchling
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
COPY adapters ./adapters
RUN python -m build --no-isolation --wheel --outdir /dist

FROM python:3.11-slim-bookworm
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libegl1 libopengl0 libgl1-mesa-dri \
 && rm -rf /var/lib/apt/lists/*
COPY requirements.lock /tmp/
COPY --from=build /dist /tmp/dist
ARG EXTRAS=manipulation,sfm
RUN pip install --no-cache-dir --constraint /tmp/requirements.lock "$(ls /tmp/dist/*.whl)[$EXTRAS]"
# Writable for any user, so that --user fits the owner of a mounted folder; caches and weights lie in the home.
RUN useradd --create-home worldgauge \
 && mkdir /workspace \
 && chmod 1777 /home/worldgauge /workspace
ENV HOME=/home/worldgauge
USER worldgauge
WORKDIR /workspace
ENTRYPOINT ["worldgauge"]
CMD ["--help"]
