import type { ServiceToken } from '@gatehouse/bearer'
import type { Identity } from '@gatehouse/identity'
import { changesInLog, type Log, type ManagementChange, type RecordChange } from '@gatehouse/kit'
import { Pool } from 'undici'
import type { Settings } from '../config/config.ts'
import type { Dispose } from './parts.ts'

/** What {@link composeAudit} is composed from. */
export interface AuditParts {
  readonly settings: Settings
  readonly token: ServiceToken | undefined
  readonly log: Log
  readonly resources: Dispose[]
  /** The token service of this process once it is built, undefined where it runs elsewhere. */
  readonly identityHere: () => Identity | undefined
}

/** How long a change may wait for the audit trail, in milliseconds. */
const maxWaitMs = 2_000
const path = '/admin/v1/audit-events'

/** Where the services keep what their management changes: identity's trail, here or over HTTP; the log without either. */
export function composeAudit({ settings, token, log, resources, identityHere }: AuditParts): RecordChange {
  if (settings.services.has('identity'))
    return async (change) => {
      const identity = identityHere()
      if (!identity) throw new Error('the audit trail is not open yet')
      await identity.recordChange(change)
    }
  if (token) return overHttp(settings.identityUrl ?? settings.authUrl, token, resources)
  log.warn('SERVICE_CLIENT_ID is not set: what management changes is recorded in the log alone')
  return changesInLog(log)
}

function overHttp(identityUrl: string, token: ServiceToken, resources: Dispose[]): RecordChange {
  const { origin, pathname } = new URL(identityUrl)
  const pool = new Pool(origin, { connections: 4, headersTimeout: maxWaitMs, bodyTimeout: maxWaitMs })
  resources.push(() => pool.close())
  return async (change) => {
    const signal = AbortSignal.timeout(maxWaitMs)
    const body = JSON.stringify(toWire(change))
    for (let last = false; ; last = true) {
      const bearer = await within(signal, token.current())
      const answer = await pool.request({
        method: 'POST',
        path: pathname.replace(/\/$/, '') + path,
        headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
        body,
        signal,
      })
      await answer.body.dump()
      if (answer.statusCode === 204) return
      if (answer.statusCode !== 401 || last) throw new Error(`identity answered ${answer.statusCode} to POST ${path}`)
      token.discard(bearer)
    }
  }
}

/** A change as the endpoint takes it. */
function toWire({ actor: { clientId, requestId, ...actor }, ...change }: ManagementChange) {
  return { ...change, actor: { ...actor, client_id: clientId, request_id: requestId } }
}

/** A token that is waited for no longer than the change is. */
function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  return Promise.race([work, late])
}
