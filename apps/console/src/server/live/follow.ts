import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { ApiError, bearer, connect, events, requestOf } from '@gatehouse/client'
import { Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { factsOf } from '../../actions/index.ts'
import type { ConsoleContext } from '../context.ts'
import { callSignedIn, signedOut } from '../proxy/signed-in-call.ts'
import type { Session } from '../session/session.ts'
import type { LiveRules } from './rules.ts'
import type { Topic } from './topics.ts'

/** What is new in a topic, and what it is resumed after. */
export interface LiveChange {
  /** Left out where there is nothing to show yet: the reader only learns the position. */
  readonly event?: string
  readonly data?: unknown
  readonly position: string
}

/** What following needs. */
export interface FollowOptions {
  readonly context: ConsoleContext
  readonly request: FastifyRequest
  /** The hash of the id of the session whose tokens are used. */
  readonly idHash: string
  readonly rules: LiveRules
  readonly signal: AbortSignal
}

/**
 * What is new in a topic since `position`, until the signal is aborted. A service that fails is asked again, later each
 * time; one that refuses ends the topic with the event `refused`.
 *
 * @throws Problem 401 when the session has ended
 */
export function followTopic(
  topic: Topic,
  position: string | undefined,
  options: FollowOptions,
): AsyncGenerator<LiveChange> {
  return topic.kind === 'polled' ? pollTopic(topic, position, options) : streamTopic(topic, position, options)
}

const maxPauseFactor = 12

async function* pollTopic(
  topic: Topic & { readonly kind: 'polled' },
  position: string | undefined,
  options: FollowOptions,
): AsyncGenerator<LiveChange> {
  const { rules, signal } = options
  let [last, pauseMs] = [position, rules.pollMs]
  while (!signal.aborted) {
    const found = await look(topic, options)
    if ('refused' in found) return yield { event: 'refused', data: { status: found.refused }, position: last ?? '' }
    const next = 'state' in found ? found.state : last
    if (next !== undefined && next !== last)
      yield last === undefined ? { position: next } : { event: 'changed', data: {}, position: next }
    last = next
    pauseMs = 'state' in found ? rules.pollMs : Math.min(pauseMs * 2, rules.pollMs * maxPauseFactor)
    await pause(pauseMs, undefined, { signal }).catch(() => {})
  }
}

type Look = { readonly state: string } | { readonly refused: number } | { readonly failed: true }

/** The state of a topic as a digest of the answer; none where the service fails for now. */
async function look(
  { service, path }: Topic & { readonly kind: 'polled' },
  { context, request, idHash, signal }: FollowOptions,
): Promise<Look> {
  try {
    const call = { method: 'GET', path, signal }
    const answer = await callSignedIn(context, await findSession(context, idHash), service, { request, call })
    const text = await answer.body.text()
    if (answer.statusCode === 200) return { state: createHash('sha256').update(text).digest('base64url').slice(0, 22) }
    return answer.statusCode === 403 || answer.statusCode === 404 ? { refused: answer.statusCode } : { failed: true }
  } catch (error) {
    if (error instanceof Problem && error.status === 401) throw error
    return { failed: true }
  }
}

async function* streamTopic(
  { service, id }: Topic & { readonly kind: 'notification' },
  position: string | undefined,
  options: FollowOptions,
): AsyncGenerator<LiveChange> {
  const { context, request, idHash, signal } = options
  const operation = requestOf('notifications.stream', factsOf('notifications.stream'), { id })
  const connection = connect({
    baseUrl: context.services[service] ?? '',
    credentials: bearer((renew) => tokenOf(context, idHash, renew)),
    headers: { 'x-forwarded-for': request.ip },
    allowInsecureHttp: true,
  })
  try {
    for await (const { event, data, id: after } of events(connection, operation, { lastEventId: position, signal }))
      yield { event, data, position: after }
  } catch (error) {
    if (signal.aborted) return
    if (!(error instanceof ApiError)) throw error
    yield { event: 'refused', data: { status: error.status }, position: position ?? '' }
  }
}

async function tokenOf(context: ConsoleContext, idHash: string, renew: boolean): Promise<string> {
  const session = await findSession(context, idHash)
  const token = await (renew ? context.tokens.renewed(session) : context.tokens.current(session))
  if (token === undefined) throw signedOut()
  return token
}

async function findSession({ store, clock }: ConsoleContext, idHash: string): Promise<Session> {
  const session = await store.sessions.find(idHash, clock.now())
  if (session === undefined) throw signedOut()
  return session
}
