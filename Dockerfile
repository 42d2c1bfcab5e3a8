# Built with: docker compose build (or docker build -t headroom .)
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=container
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/headroom ./cmd/web \
    && mkdir /out/data

# No shell, no package manager, not root (uid 65532).
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/headroom /headroom
# A volume mounted here takes over the owner: the admin token is kept in it.
COPY --from=build --chown=65532:65532 /out/data /data
ENV HEADROOM_LISTEN=0.0.0.0:8080 HEADROOM_DATA_DIR=/data
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["/headroom", "health"]
ENTRYPOINT ["/headroom"]
