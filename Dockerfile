# The image of the Helm chart. Build the programs first:
#
#   make release && docker build -t registry.example/muster:v0.1.0 .
FROM debian:stable-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY bin/release/muster bin/release/muster-kubernetes /
USER 65532:65532
ENTRYPOINT ["/muster"]
