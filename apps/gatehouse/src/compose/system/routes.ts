import type { Http } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { effectiveValues } from '../../config/effective.ts'
import { shareRead } from '../../process/shared-read.ts'
import type { Ingress } from '../gateway/ingress.ts'
import { requireOneOf, systemScopes } from './access.ts'
import { readDrift } from './drift.ts'
import { type LiveStreams, type LiveTopic, liveTopics } from './live.ts'
import * as schemas from './schemas.ts'
import { createSetup } from './setup.ts'
import { createStatus, type SystemParts } from './status.ts'
import { TableSizes } from './storage.ts'

/** What {@link registerSystem} is built from. */
export interface SystemRoutesParts extends SystemParts {
  readonly ingress: Pick<Ingress, 'authenticate' | 'watch'>
  readonly live: LiveStreams
}

/** Status, setup, configuration and counters of this process, under /admin/v1. */
export function registerSystem(http: Http, parts: SystemRoutesParts): void {
  const { config, ingress, database, clock } = parts
  const sizes = database && new TableSizes(database, config.settings, clock)
  http.addHook('onClose', async () => sizes?.stop())
  const mayReadStatus = requireOneOf(ingress.authenticate, systemScopes.status)
  const mayReadConfig = requireOneOf(ingress.authenticate, systemScopes.config)
  const [readStatus, readSetup] = [shareRead(createStatus(parts)), shareRead(createSetup(parts))]
  http.get('/admin/v1/status', { schema: schemas.getStatus }, async (request) => {
    await mayReadStatus(request)
    return readStatus() as never
  })
  http.get('/admin/v1/setup', { schema: schemas.getSetup }, async (request) => {
    await mayReadStatus(request)
    return { items: await readSetup() } as never
  })
  http.get('/admin/v1/config', { schema: schemas.getConfig }, async (request) => {
    await mayReadConfig(request)
    return { items: effectiveValues(config) }
  })
  http.get('/admin/v1/storage', { schema: schemas.getStorage }, async (request) => {
    await mayReadConfig(request)
    return { items: (await sizes?.read()) ?? [] }
  })
  http.get('/admin/v1/drift', { schema: schemas.getDrift }, async (request) => {
    await mayReadConfig(request)
    return { items: database === undefined ? [] : await readDrift(database, config.settings) }
  })
  const live = { schema: schemas.getLive, exposeHeadRoute: false }
  http.get('/admin/v1/live', live, followCounters(parts, mayReadStatus))
}

const maxLifeMs = 3_600_000

/** The stream ends with the token, after an hour, and with the process. */
function followCounters({ live, ingress, clock }: SystemRoutesParts, admit: ReturnType<typeof requireOneOf>) {
  return async (request: FastifyRequest<{ Querystring: { topics?: string } }>, reply: FastifyReply) => {
    const caller = await admit(request)
    const { subject, expiresAt } = caller
    live.admit(subject)
    const { topics } = request.query
    const { raw } = reply
    reply.hijack()
    if (raw.destroyed) return
    for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value)
    raw.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      'x-request-id': request.id,
    })
    const followed = (topics?.split(',') ?? Object.keys(liveTopics)) as LiveTopic[]
    const end = live.add(raw, followed, subject)
    const lifeMs = expiresAt === undefined ? maxLifeMs : Math.min(expiresAt - clock.now(), maxLifeMs)
    const life = setTimeout(end, Math.max(0, lifeMs))
    const stopWatching = ingress.watch(request.raw, caller, end)
    raw.once('close', () => {
      clearTimeout(life)
      stopWatching()
    })
  }
}
