import { type Clock, instantOf, isEmailAddress, type PageRequest, Problem, selectPage } from '@gatehouse/kit'
import type { Provider, SendResult } from '@gatehouse/providers'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Audit } from '../context/audit.ts'
import { maskAddress, maskResult } from '../model/masking.ts'
import type { Target } from '../model/notification.ts'
import type { AccessControl } from '../request/caller.ts'
import type { ProviderPauses, StoredHealth } from '../store/store.ts'
import type { PauseBody, ProviderParams, ProviderTestBody } from './schemas/providers.ts'

/** What the endpoints of providers need. */
export interface ProvidersContext {
  readonly access: AccessControl
  readonly audit: Audit
  /** Those of this program, by channel the preferred first. */
  readonly providers: readonly Provider[]
  readonly pauses: ProviderPauses
  readonly clock: Clock
}

/** Calls a provider once with a message of its own. */
export type TestProvider = (
  provider: Provider,
  target: Target,
) => Promise<{ readonly result: SendResult; readonly durationMs: number }>

/** Until when a provider is paused that nobody said an end for: 9999-12-31. */
const endOfTime = 253_402_214_400_000

type OneProvider = FastifyRequest<{ Params: Static<typeof ProviderParams> }>

/** GET /v1/providers: every provider with its channel, its place in the order, and whether it is called. */
export function listProviders(context: ProvidersContext) {
  return async (request: FastifyRequest<{ Querystring: PageRequest }>) => {
    const all = await readAll(context)
    return selectPage(
      all,
      request.query,
      ({ channel, place, name }) => `${channel} ${String(place).padStart(3, '0')} ${name}`,
    )
  }
}

/** GET /v1/providers/{name} */
export function getProvider(context: ProvidersContext) {
  return async ({ params: { name } }: OneProvider) => find(context, name)
}

/** POST /v1/providers/{name}/pause: no process calls it, until a time or until it is resumed. */
export function pauseProvider(context: ProvidersContext) {
  return async (request: FastifyRequest<{ Params: Static<typeof ProviderParams>; Body: Static<typeof PauseBody> }>) => {
    const now = context.clock.now()
    const until = request.body.until === undefined ? endOfTime : instantOf(request.body.until, '/until')
    if (until <= now) {
      const detail = 'must be in the future'
      throw new Problem(400, `/until ${detail}.`, { errors: [{ pointer: '/until', detail }] })
    }
    return setPause(context, request, until)
  }
}

/** POST /v1/providers/{name}/resume: ends a pause. What its breaker says still counts. */
export function resumeProvider(context: ProvidersContext) {
  return (request: OneProvider) => setPause(context, request, undefined)
}

/** POST /v1/providers/{name}/test: one message to an address, at once, past its breaker and its pause. */
export function testProvider(context: ProvidersContext & { readonly test: TestProvider }) {
  const { access, audit, providers, test } = context
  return async (
    request: FastifyRequest<{ Params: Static<typeof ProviderParams>; Body: Static<typeof ProviderTestBody> }>,
  ) => {
    const { name } = request.params
    const { to, service } = request.body
    const provider = providers.find((each) => each.name === name)
    if (!provider) throw notFound(name)
    const { channel } = provider
    if (channel === 'in-app') throw new Problem(422, 'In-app items go to the feed of a user: no provider is called.')
    const target = { id: channel, address: to, ...(service === undefined ? {} : { service }) }
    refuseAddress(provider, target)
    const after = { to: maskAddress(channel, to) }
    await audit(request, { action: 'providers.test', target: { type: 'provider', id: name }, after })
    const { result, durationMs } = await test(provider, target)
    const shown = access.masks(request) ? maskResult({ ...result }) : { ...result }
    return { ...pickResult(shown), result: result.kind, duration_ms: durationMs }
  }
}

function refuseAddress(provider: Provider, target: Target): void {
  const { channel } = provider
  const isWrong =
    (channel === 'email' && !isEmailAddress(target.address)) ||
    (channel === 'sms' && !/^\+[1-9]\d{5,14}$/.test(target.address)) ||
    provider.supports?.(target) === false
  if (!isWrong) return
  const detail = `must be an address that ${provider.name} can send to`
  throw new Problem(400, `/to ${detail}.`, { errors: [{ pointer: '/to', detail }] })
}

/** Of a result what says something to people. */
function pickResult({ code, reason, providerMessageId }: Readonly<Record<string, unknown>>) {
  return {
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(typeof providerMessageId === 'string' ? { provider_message_id: providerMessageId } : {}),
  }
}

async function setPause(context: ProvidersContext, request: OneProvider, until: number | undefined) {
  const { name } = request.params
  const { paused_until: before } = await find(context, name)
  const action = until === undefined ? 'providers.resume' : 'providers.pause'
  await context.audit(request, {
    action,
    target: { type: 'provider', id: name },
    ...(before === undefined ? {} : { before: { paused_until: before } }),
    ...(until === undefined ? {} : { after: { paused_until: new Date(until).toISOString() } }),
  })
  await context.pauses.set(name, until, context.clock.now())
  return find(context, name)
}

async function find(context: ProvidersContext, name: string) {
  const found = (await readAll(context)).find((each) => each.name === name)
  if (!found) throw notFound(name)
  return found
}

function notFound(name: string): Problem {
  return new Problem(404, `There is no provider ${name}.`)
}

async function readAll({ providers, pauses, clock }: ProvidersContext) {
  const stored = new Map((await pauses.list()).map((each) => [each.provider, each]))
  const now = clock.now()
  const places = new Map<string, number>()
  return providers.map(({ name, channel, reports }) => {
    const place = (places.get(channel) ?? 0) + 1
    places.set(channel, place)
    const webhook = reports ? { webhook_path: `/v1/webhooks/${name}` } : {}
    return { name, channel, place, ...formatHealth(stored.get(name), now), ...webhook }
  })
}

function formatHealth(health: StoredHealth | undefined, now: number) {
  const { since, calls = 0, failures = 0, openUntil, pausedUntil = 0 } = health ?? {}
  const isPaused = pausedUntil > now
  return {
    state: stateOf(isPaused, openUntil, now),
    ...(openUntil === undefined ? {} : { open_until: new Date(openUntil).toISOString() }),
    ...(isPaused ? { paused_until: new Date(pausedUntil).toISOString() } : {}),
    ...(since === undefined ? {} : { counted_since: new Date(since).toISOString() }),
    calls,
    failures,
  }
}

function stateOf(isPaused: boolean, openUntil: number | undefined, now: number) {
  if (isPaused) return 'paused' as const
  if (openUntil === undefined) return 'closed' as const
  return openUntil > now ? ('open' as const) : ('probing' as const)
}
