# Built with: docker compose build (or docker build --build-arg VERSION=$(git describe --always) -t headroom .)
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION=container
# What was compiled before is kept between builds, so that a change of the source compiles only what it touches.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/headroom ./cmd/web \
    && mkdir /out/data

# No shell, no package manager, not root (uid 65532).
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/headroom /headroom
# A volume mounted here takes over the owner: the admin token is kept in it.
COPY --from=build --chown=65532:65532 /out/data /data
ENV HEADROOM_LISTEN=0.0.0.0:8080 HEADROOM_DATA_DIR=/data
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=90s --retries=3 CMD ["/headroom", "health"]
ENTRYPOINT ["/headroom"]
