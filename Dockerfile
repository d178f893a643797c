# Images of Yuba from the sources of this directory:
#   docker build -t yuba .                   with a shell, git and ssh, for modules from git and provisioners
#   docker build -t yuba --target minimal .  the static binary and certificate authorities alone
# Run them with the project mounted: docker run --rm -v "$PWD:/work" yuba plan
FROM rust:1.95-alpine AS build
RUN apk add --no-cache build-base
WORKDIR /src
COPY . .
RUN cargo build --release --locked --package yuba-cli --bin yuba \
    && mkdir -p /image/bin /image/tmp && chmod 1777 /image/tmp \
    && cp target/release/yuba /image/bin/yuba

FROM scratch AS minimal
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /image /
COPY LICENSE /
ENV HOME=/home TF_IN_AUTOMATION=1
WORKDIR /work
ENTRYPOINT ["/bin/yuba"]

FROM alpine:3.22 AS complete
RUN apk add --no-cache ca-certificates git openssh-client
COPY --from=build /image/bin/yuba /usr/local/bin/yuba
COPY LICENSE /usr/share/doc/yuba/
ENV TF_IN_AUTOMATION=1
WORKDIR /work
ENTRYPOINT ["/usr/local/bin/yuba"]
