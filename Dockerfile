# syntax=docker/dockerfile:1
# Gatehouse for production-like use. The Node that runs it comes from the lock file, not from the base image.
# Any Debian with Node 20 or newer, npm, and a user `node`.
ARG BASE=node:26-bookworm-slim
FROM ${BASE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY apps/gatehouse/package.json apps/gatehouse/
COPY apps/console/package.json apps/console/
COPY packages/bearer/package.json packages/bearer/
COPY packages/client/package.json packages/client/
COPY packages/gateway/package.json packages/gateway/
COPY packages/identity/package.json packages/identity/
COPY packages/inbox/package.json packages/inbox/
COPY packages/kit/package.json packages/kit/
COPY packages/limiter/package.json packages/limiter/
COPY packages/notify/package.json packages/notify/
COPY packages/providers/package.json packages/providers/
COPY testing/package.json testing/
COPY fakes/package.json fakes/
COPY bench/package.json bench/
COPY scripts/api-reference/package.json scripts/api-reference/
RUN npm ci --omit=dev --workspace=gatehouse --include-workspace-root

# The pages of the console are bundled here; neither esbuild nor what they are made of is in the image.
FROM dependencies AS console
RUN npm ci --workspace=@gatehouse/console --include-workspace-root
COPY apps/console apps/console
COPY packages packages
ENV PATH=/app/node_modules/.bin:$PATH
RUN node apps/console/src/server/shell/package.ts

FROM ${BASE}
# DEV_PAGES=never: the pages that show all mail to whoever asks are never served from an image.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data DEV_PAGES=never
# The pinned Node of the lock file where npm put one, else the image's own.
ENV PATH=/app/node_modules/.bin:$PATH
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
# No gatehouse.yaml: its users and clients are examples. Mount your own as /app/gatehouse.yaml, or name it in GATEHOUSE_CONFIG.
COPY package.json ./
COPY templates templates
COPY apps apps
COPY packages packages
COPY --from=console /app/apps/console/dist apps/console/dist
RUN install -d -o node -g node -m 0700 /data
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
CMD ["node", "apps/gatehouse/src/main.ts"]
