import { type Bearer, BearerError, type Caller as TokenCaller, wwwAuthenticate } from '@gatehouse/bearer'
import { Problem } from '@gatehouse/kit'
import { type Authenticate, type Caller, holdsScope } from '../model/caller.ts'
import type { RouteRule } from '../model/route-rule.ts'
import type { ApiKeys } from './api-keys.ts'

/**
 * The authentication of a service without a gateway in front of it: bearer tokens, verified here, and API keys
 * (X-API-Key) if `apiKeys` is passed. With both, the token counts.
 */
export function createAuthenticate(bearer: Bearer, realm: string, apiKeys?: ApiKeys): Authenticate {
  return async ({ raw }, scope) => {
    const { authorization, 'x-api-key': key } = raw.headers
    try {
      if (apiKeys && authorization === undefined && typeof key === 'string')
        return requireScope((await apiKeys.callerOf(key)).caller, scope, realm)
      return requireScope(toCaller(await bearer.authenticate(authorizationsIn(raw.rawHeaders))), scope, realm)
    } catch (error) {
      throw toProblem(error, realm)
    }
  }
}

/** Every Authorization header: `headers` has only the first of several. */
function authorizationsIn(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_value, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === 'authorization')
}

/**
 * Returns the caller if it has the scope.
 * @throws Problem 403 `insufficient_scope` (RFC 6750 §3.1)
 */
export function requireScope(caller: Caller, scope: string | undefined, realm: string): Caller {
  if (scope === undefined || holdsScope(caller, scope)) return caller
  throw toProblem(new BearerError('insufficient_scope', 'scope', { requiredScope: scope }), realm)
}

/**
 * Checks how the caller's user signed in, now: the answer changes while a token stays valid. An API key tells nothing
 * of a sign-in and is refused.
 * @throws Problem 401 `insufficient_user_authentication` (RFC 9470 §3)
 */
export function requireSignIn(bearer: Bearer, caller: Caller, rule: RouteRule, realm: string): void {
  const { requireAcr, maxAgeSeconds: maxAge } = rule
  if (requireAcr === undefined && maxAge === undefined) return
  try {
    bearer.requireSignIn({ kind: caller.kind, acr: caller.acr, authTime: caller.authTime }, { requireAcr, maxAge })
  } catch (error) {
    throw toProblem(error, realm)
  }
}

/** The problem of a refused credential. Any other error is returned unchanged. */
export function toProblem(error: unknown, realm: string): unknown {
  if (!(error instanceof BearerError)) return error
  const challenge = wwwAuthenticate(error, { realm })
  return new Problem(error.status, `${error.message}.`, {
    headers: {
      ...(challenge === undefined ? {} : { 'www-authenticate': challenge }),
      ...(error.retryAfterSeconds === undefined ? {} : { 'retry-after': String(error.retryAfterSeconds) }),
    },
    cause: error,
  })
}

/** No credential at all: 401 without an `error` (RFC 6750 §3.1). */
export const missingCredential = (realm: string): unknown =>
  toProblem(new BearerError('missing_token', 'missing'), realm)

const callers = new WeakMap<TokenCaller, Caller>()

/** The caller of a verified token. Created once for a cached token. */
export function toCaller(token: TokenCaller): Caller {
  const known = callers.get(token)
  if (known) return known
  const { subject, kind, clientId, scopes, roles, grantId, plan, acr, authTime, expiresAt } = token
  const caller = Object.freeze({
    subject,
    kind,
    scopes: new Set(scopes),
    roles,
    expiresAt,
    ...(clientId === undefined ? {} : { clientId }),
    ...(grantId === undefined ? {} : { grantId }),
    ...(acr === undefined ? {} : { acr }),
    ...(authTime === undefined ? {} : { authTime }),
    ...(plan === undefined || kind !== 'client' ? {} : { plan }),
  })
  callers.set(token, caller)
  return caller
}
