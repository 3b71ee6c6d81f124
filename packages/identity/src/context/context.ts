import type { Clock, KeyRing, Log } from '@gatehouse/kit'
import type { PageParts } from '@gatehouse/kit/page'
import type { ClientAssertions } from '../clients/assertion.ts'
import type { ClientCache } from '../clients/cache.ts'
import type { AuditBudget } from '../clients/failure-budget.ts'
import type { RecentAuthentications } from '../clients/recent-authentications.ts'
import type { Blocked, Forgive, Limit, Refund } from '../config/attempt-limits.ts'
import type { ResourceDeclaration } from '../config/declarations.ts'
import type { Features } from '../config/features.ts'
import type { Lifetimes } from '../config/lifetimes.ts'
import type { MacKey } from '../keys/mac-key.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import type { SigningAlgorithm } from '../model/client.ts'
import type { PasswordHasher } from '../passwords/hasher.ts'
import type { PasswordPolicy } from '../passwords/rule.ts'
import type { IdentityStore } from '../store/index.ts'
import type { IdentityMetrics } from './metrics.ts'

/** What the endpoints are made of; each takes what it needs. */
export interface IdentityContext extends PageParts {
  /** The authorization server's address and the claim iss; no slash at its end. */
  readonly issuer: string
  readonly baseUrl: string
  /** The audience of tokens for which no resource was asked. */
  readonly apiIdentifier: string
  readonly accessTokenAlgorithm: SigningAlgorithm
  readonly resources: ReadonlyMap<string, ResourceDeclaration>
  readonly lifetimes: Lifetimes
  readonly defaultPlan: string
  readonly store: IdentityStore
  readonly clients: ClientCache
  readonly keys: SigningKeys
  readonly assertions: ClientAssertions
  readonly auditBudget: AuditBudget
  readonly passwords: PasswordHasher
  /** Which passwords may be set. */
  readonly passwordPolicy: PasswordPolicy
  /** Signs refresh tokens. */
  readonly refreshMac: MacKey
  /** Signs the tokens of forms. */
  readonly formMac: MacKey
  /** Seals what must be read again; links, cookies and pages too. */
  readonly encryptionKey: KeyRing
  /** Whether the public address is https: cookies then never travel otherwise. */
  readonly secureCookies: boolean
  readonly features: Features
  readonly limit: Limit
  readonly refund: Refund
  readonly blocked: Blocked
  readonly forgive: Forgive
  readonly recentAuthentications: RecentAuthentications
  /** Hints that the outbox has something. */
  readonly signalOutbox: () => void
  /** Whether mail can be sent at all. */
  readonly mail: boolean
  readonly metrics: IdentityMetrics
  readonly clock: Clock
  readonly log: Log
}
