import { type Bearer, BearerError, type Caller, hasScope } from '@gatehouse/bearer'
import { isManagementScope } from '@gatehouse/identity'

/**
 * The check of another issuer's tokens, by which its users hold the scopes of management that `granted` names and no
 * others. Where identity is ours a role stands behind each of them; there anybody may hold what their issuer lets every
 * user ask for. What its clients hold was given to them by whoever registered them.
 */
export function boundToIssuer(bearer: Bearer, granted: readonly string[]): Bearer {
  const known = new WeakMap<Caller, Caller>()
  const bound = (caller: Caller): Caller => {
    if (caller.kind === 'client') return caller
    const found = known.get(caller) ?? withoutManagement(caller, granted)
    known.set(caller, found)
    return found
  }
  return {
    authenticate(credentials, { scope, ...demand } = {}) {
      const admit = (caller: Caller): Caller => {
        const found = bound(caller)
        if (scope === undefined || hasScope(found, scope)) return found
        throw new BearerError('insufficient_scope', 'scope', { requiredScope: scope })
      }
      const caller = bearer.authenticate(credentials, demand)
      return caller instanceof Promise ? caller.then(admit) : admit(caller)
    },
    requireSignIn: (caller, requirement) => bearer.requireSignIn(caller, requirement),
    prefetch: () => bearer.prefetch(),
    refreshKeys: () => bearer.refreshKeys(),
  }
}

function withoutManagement(caller: Caller, granted: readonly string[]): Caller {
  const scopes = caller.scopes.filter((scope) => !isManagementScope(scope) || granted.includes(scope))
  return scopes.length === caller.scopes.length ? caller : Object.freeze({ ...caller, scopes: Object.freeze(scopes) })
}
