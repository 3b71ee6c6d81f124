import { Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Dispatcher } from 'undici'
import type { ConsoleContext } from '../context.ts'
import type { ApiService } from '../options.ts'
import type { Session } from '../session/session.ts'
import type { ServiceCall } from './services.ts'

const signedOutType = 'urn:gatehouse:console:signed-out'

/** The problem of a request without a live session. The pages offer to sign in. */
export function signedOut(): Problem {
  return new Problem(401, 'You are signed out.', { type: signedOutType, title: 'Signed out' })
}

/** Whether an error is that of a request without a live session. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof Problem && error.body().type === signedOutType
}

/** The problem of an operation that requires a recent sign-in (RFC 9470). The pages offer to sign in again. */
function stepUp(maxAge: number): Problem {
  return new Problem(401, 'This requires that you signed in a moment ago.', {
    type: 'urn:gatehouse:console:sign-in-again',
    title: 'Sign in again',
    members: { max_age: maxAge },
  })
}

/**
 * Calls a service with the session's access token. A token that is refused is renewed once. The address of the browser is
 * passed on for the audit trail.
 * @throws Problem 401 when the session or the sign-in is not enough, 503 when a service cannot be reached
 */
export async function callSignedIn(
  context: ConsoleContext,
  session: Session,
  service: ApiService,
  { request, call }: { readonly request: FastifyRequest; readonly call: Omit<ServiceCall, 'holder'> },
): Promise<Dispatcher.ResponseData> {
  const attempt = async (token: string | undefined) => {
    if (token === undefined) throw signedOut()
    const headers = {
      ...call.headers,
      authorization: `Bearer ${token}`,
      'x-forwarded-for': request.ip,
      'x-request-id': request.id,
    }
    return reach(service, () => context.connections.call(service, { ...call, headers, holder: session.userId }))
  }
  const token = await reach('identity', () => context.tokens.current(session))
  const answer = await attempt(token)
  if (answer.statusCode !== 401) return answer
  await dropRefusal(answer)
  const live = await context.store.sessions.find(session.idHash, context.clock.now())
  if (live === undefined) throw signedOut()
  const repeated = await attempt(await reach('identity', () => context.tokens.renewed(live)))
  if (repeated.statusCode !== 401) return repeated
  await dropRefusal(repeated)
  if (service === 'identity') {
    await context.store.sessions.end(session.idHash)
    context.openAnswers.end(session.idHash)
    throw signedOut()
  }
  // Identity has just renewed the token, so the session is good: to end it would sign people in for ever.
  throw new Problem(502, `The ${service} service does not accept the tokens of the console.`, { members: { service } })
}

/** Reads a 401 to its end. @throws Problem 401 where it asks for a recent sign-in, which no other token brings */
async function dropRefusal({ headers, body }: Dispatcher.ResponseData): Promise<void> {
  const challenge = String(headers['www-authenticate'] ?? '')
  await body.dump()
  if (challenge.includes('insufficient_user_authentication')) throw stepUp(maxAgeOf(challenge))
}

const defaultMaxAge = 600

function maxAgeOf(challenge: string): number {
  return Number(/max_age="?(\d+)/.exec(challenge)?.[1] ?? defaultMaxAge)
}

async function reach<T>(service: ApiService, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof Problem) throw cause
    throw new Problem(503, `The ${service} service cannot be reached.`, {
      type: 'urn:gatehouse:console:unreachable',
      title: 'Service unreachable',
      members: { service },
      headers: { 'retry-after': '5' },
      cause,
    })
  }
}
