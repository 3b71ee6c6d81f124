import {
  type Clock,
  entityTagOf,
  type IfMatchHeaders,
  instantOf,
  isEmailAddress,
  type PageRequest,
  Problem,
  preconditionFailed,
  requireMatch,
  selectPage,
} from '@gatehouse/kit'
import type { Provider, SendResult } from '@gatehouse/providers'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Audit } from '../context/audit.ts'
import { maskAddress, maskResult } from '../model/masking.ts'
import type { Target } from '../model/notification/notification.ts'
import { type ProviderStatusContext, readProviders } from './provider-status.ts'
import type { PauseBody, ProviderParams, ProviderTestBody } from './schemas/providers.ts'

/** What the endpoints of providers need. */
export interface ProvidersContext extends ProviderStatusContext {
  readonly audit: Audit
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
    const all = await readProviders(context, request)
    return selectPage(
      all,
      request.query,
      ({ channel, place, name }) => `${channel} ${String(place).padStart(3, '0')} ${name}`,
    )
  }
}

/** GET /v1/providers/{name} */
export function getProvider(context: ProvidersContext) {
  return async (request: OneProvider, reply: FastifyReply) => {
    const found = await find(context, request)
    return reply.header('etag', pauseTag(found)).send(found)
  }
}

/** POST /v1/providers/{name}/pause: no process calls it, until a time or until it is resumed. */
export function pauseProvider(context: ProvidersContext) {
  return async (
    request: FastifyRequest<{
      Params: Static<typeof ProviderParams>
      Body: Static<typeof PauseBody>
      Headers: Static<typeof IfMatchHeaders>
    }>,
    reply: FastifyReply,
  ) => {
    const now = context.clock.now()
    const until = request.body.until === undefined ? endOfTime : instantOf(request.body.until, '/until')
    if (until <= now) {
      const detail = 'must be in the future'
      throw new Problem(400, `/until ${detail}.`, { errors: [{ pointer: '/until', detail }] })
    }
    return setPause(context, request, reply, until)
  }
}

/** POST /v1/providers/{name}/resume: ends a pause. What its breaker says still counts. */
export function resumeProvider(context: ProvidersContext) {
  return (request: OneProvider, reply: FastifyReply) => setPause(context, request, reply, undefined)
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

async function setPause(
  context: ProvidersContext,
  request: OneProvider,
  reply: FastifyReply,
  until: number | undefined,
) {
  const { name } = request.params
  const { pauses, clock } = context
  const ifMatch = request.headers['if-match']
  const found = await find(context, request)
  // What is compared with the tag is what must still be stored when the pause is: it is read once.
  const before = (await pauses.list()).find(({ provider }) => provider === name)?.pausedUntil
  const isPaused = before !== undefined && before > clock.now()
  requireMatch(ifMatch, pauseTag({ name, ...(isPaused ? { paused_until: new Date(before).toISOString() } : {}) }))
  const action = until === undefined ? 'providers.resume' : 'providers.pause'
  await context.audit(request, {
    action,
    target: { type: 'provider', id: name },
    ...(found.paused_until === undefined ? {} : { before: { paused_until: found.paused_until } }),
    ...(until === undefined ? {} : { after: { paused_until: new Date(until).toISOString() } }),
  })
  const isSet = await pauses.set(name, until, clock.now(), ifMatch === undefined ? undefined : (before ?? null))
  const after = await find(context, request)
  if (!isSet) throw preconditionFailed(pauseTag(after))
  return reply.header('etag', pauseTag(after)).send(after)
}

/** Tags the pause: what is counted of a provider changes all the time. */
function pauseTag({ name, paused_until }: { readonly name: string; readonly paused_until?: string }): string {
  return entityTagOf({ name, paused_until })
}

async function find(context: ProvidersContext, request: OneProvider) {
  const { name } = request.params
  const found = (await readProviders(context, request)).find((each) => each.name === name)
  if (!found) throw notFound(name)
  return found
}

function notFound(name: string): Problem {
  return new Problem(404, `There is no provider ${name}.`)
}
