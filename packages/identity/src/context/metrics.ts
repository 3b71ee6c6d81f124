import { type Clock, Counter, Gauge, type Registry, type StatLabels, type Tally } from '@gatehouse/kit'
import type { AuditType } from '../audit/event-type.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import type { SignInMethod } from '../model/authentication.ts'
import type { GrantType } from '../model/client.ts'
import type { Measure } from '../model/measure.ts'
import type { OAuthErrorCode } from '../oauth/error.ts'
import type { PasswordHasher } from '../passwords/hasher.ts'

/**
 * The outcome of a sign-in: `busy` and `limited` were rejected before the password was verified, `unconfirmed` waits
 * for a mailed link, `factor` for a second factor.
 */
export type LoginOutcome = 'success' | 'wrong' | 'limited' | 'busy' | 'unconfirmed' | 'factor'

/** The counters of identity. Labels are closed sets: grants, error codes, outcomes, tables. */
export interface IdentityMetrics {
  tokensIssued(grantType: GrantType): void
  tokenRejected(error: OAuthErrorCode): void
  /** Of the password, unless another method is named. */
  signIn(outcome: LoginOutcome, method?: SignInMethod): void
  securityEvent(type: AuditType): void
  rowsPurged(rows: Readonly<Record<string, number>>): void
}

/** What the gauges read. */
export interface Observed {
  readonly passwords: PasswordHasher
  readonly keys: SigningKeys
  readonly clock: Clock
}

/** Registers the metrics of identity. What is kept as history is counted in `tally` as well. */
export function createIdentityMetrics(
  registry: Registry,
  watched: Observed,
  tally: Pick<Tally, 'add'> = { add: () => {} },
): IdentityMetrics {
  const keep = (measure: Measure, labels: StatLabels) => tally.add(measure, labels)
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name: `identity_${name}`, help, labelNames, registers: [registry] })
  const issued = counter('tokens_issued_total', 'Successful token responses', 'grant_type')
  const refused = counter('token_errors_total', 'Rejected token requests, by error code', 'error')
  const logins = counter('logins_total', 'Sign-ins, by method and outcome', 'method', 'outcome')
  const events = counter('security_events_total', 'Events written to the audit trail', 'type')
  const rowsPurged = counter('purged_rows_total', 'Expired rows that were removed', 'table')
  registerGauges(registry, watched)
  return {
    tokensIssued(grantType) {
      issued.inc({ grant_type: grantType })
      keep('tokens', { grant_type: grantType })
    },
    tokenRejected(error) {
      refused.inc({ error })
      keep('token_errors', { error })
    },
    signIn(outcome, method = 'password') {
      logins.inc({ method, outcome })
      keep('sign_ins', { method, outcome })
    },
    securityEvent: (type) => events.inc({ type }),
    rowsPurged(rows) {
      for (const [table, count] of Object.entries(rows)) rowsPurged.inc({ table }, count)
    },
  }
}

function registerGauges(registry: Registry, { passwords, keys, clock }: Observed): void {
  const registers = [registry]
  new Gauge({
    name: 'identity_password_hashes_pending',
    help: 'Password hashes in progress and queued; above the limit of the queue, sign-ins are rejected with 503',
    registers,
    collect() {
      this.set(passwords.depth)
    },
  })
  new Gauge({
    name: 'identity_signing_key_age_seconds',
    help: 'Age of the active signing key since its activation',
    aggregator: 'max',
    labelNames: ['alg'],
    registers,
    collect() {
      for (const { alg, activatesAt } of keys.listActive()) {
        this.set({ alg }, (clock.now() - activatesAt) / 1000)
      }
    },
  })
}
