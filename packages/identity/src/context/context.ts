import type { Clock, KeyRing, Log, StatReader, Tally } from '@gatehouse/kit'
import type { PageParts } from '@gatehouse/kit/page'
import type { ClientAssertions } from '../clients/assertion.ts'
import type { ClientCache } from '../clients/cache.ts'
import type { AuditBudget } from '../clients/failure-budget.ts'
import type { LastUses } from '../clients/last-uses.ts'
import type { RecentAuthentications } from '../clients/recent-authentications.ts'
import type { Blocked, Forgive, Limit, Refund } from '../config/attempt-limits.ts'
import type { ResourceDeclaration } from '../config/declarations.ts'
import type { Features } from '../config/features.ts'
import type { LimitRules } from '../config/limit-rules.ts'
import type { ConnectionList } from '../connections/list.ts'
import type { ProviderClients } from '../connections/provider-clients.ts'
import type { ResolveTxt } from '../http/txt-resolver.ts'
import type { MacKey } from '../keys/mac-key.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import type { SigningAlgorithm } from '../model/client.ts'
import type { MfaPolicy } from '../model/factors/second-factor.ts'
import type { Lifetimes } from '../model/grants/lifetimes.ts'
import type { PasswordHasher } from '../passwords/hasher.ts'
import type { PasswordPolicy } from '../passwords/rule.ts'
import type { IdentityStore } from '../store/index.ts'
import type { IdentityMetrics } from './metrics.ts'

/** The server, its store and its instruments. */
export interface ServerContext {
  /** The address of the authorization server and the claim iss; without a trailing slash. */
  readonly issuer: string
  readonly store: IdentityStore
  readonly metrics: IdentityMetrics
  /** What was counted, over time. */
  readonly history: StatReader
  /** Counts what is kept as history. */
  readonly tally: Tally
  readonly clock: Clock
  readonly log: Log
}

/** Looks up clients. */
export interface ClientContext {
  readonly clients: ClientCache
}

/** Limits attempts, such as sign-ins; each member is optional for who embeds identity and has a default here. */
export interface AttemptContext {
  readonly limit: Limit
  readonly refund: Refund
  readonly blocked: Blocked
  readonly forgive: Forgive
}

/** Remembers which clients and API keys were used. */
export interface LastUseContext {
  readonly lastUses: LastUses
}

/** Authenticates clients (RFC 6749 §2.3). */
export interface ClientAuthenticationContext
  extends ServerContext,
    ClientContext,
    LastUseContext,
    Pick<AttemptContext, 'limit' | 'blocked'> {
  readonly assertions: ClientAssertions
  readonly recentAuthentications: RecentAuthentications
  /** Bounds the audit events of failed authentications. */
  readonly auditBudget: AuditBudget
}

/** Names the audiences of access tokens. */
export interface AudienceContext extends Pick<ServerContext, 'issuer'> {
  /** The audience of tokens for which no resource was requested. */
  readonly apiIdentifier: string
}

/** Issues and verifies tokens. */
export interface TokenContext extends ServerContext, AudienceContext {
  readonly accessTokenAlgorithm: SigningAlgorithm
  readonly resources: ReadonlyMap<string, ResourceDeclaration>
  readonly lifetimes: Lifetimes
  readonly keys: SigningKeys
  /** Signs refresh tokens. */
  readonly refreshMac: MacKey
  /** Whether users of this instance may, or must, have a second factor. */
  readonly mfa: MfaPolicy
}

/** Sends pages, and binds their forms to the browser and its session. */
export interface PageContext extends PageParts, ServerContext, BuiltInContext {
  readonly lifetimes: Lifetimes
  readonly features: Features
  /** Whether users of this instance may, or must, have a second factor. */
  readonly mfa: MfaPolicy
  /** The other identity providers that pages offer. */
  readonly connections: ConnectionList
  /** Signs the tokens of forms. */
  readonly formMac: MacKey
  /** Seals what must be read again: continuations, cookies, messages of the outbox. */
  readonly encryptionKey: KeyRing
  /** Whether the public address is https: cookies are then sent over https only. */
  readonly secureCookies: boolean
  /** Signals that the outbox has a message. */
  readonly signalOutbox: () => void
  /** Whether mail can be sent at all. */
  readonly mail: boolean
  /** Whether text messages can be sent. */
  readonly sms: boolean
}

/** Hashes passwords, and decides which may be set. */
export interface PasswordContext {
  readonly passwords: PasswordHasher
  readonly passwordPolicy: PasswordPolicy
}

/** Sends mail through the notification service. */
export interface MailContext extends Pick<PageParts, 'branding'>, Pick<ServerContext, 'issuer' | 'store' | 'clock'> {
  readonly lifetimes: Lifetimes
  readonly encryptionKey: KeyRing
  readonly signalOutbox: () => void
  /** Whether mail can be sent at all. */
  readonly mail: boolean
}

/** Calls other identity providers. */
export interface ProviderContext {
  readonly providers: ProviderClients
}

/** Applies the plan of users and clients that have none of their own. */
export interface PlanContext {
  readonly defaultPlan: string
  /** The tiers where no limits are stored; undefined where nobody knows them. */
  readonly tiers: readonly string[] | undefined
}

/** Keeps the clients of the operator's own programs. */
export interface BuiltInContext {
  /**
   * Clients that management neither deletes nor gives another secret. Their grants end with the session, also where the
   * message about its end cannot be delivered.
   */
  readonly builtInClients: ReadonlySet<string>
}

/** Keeps tiers and policies. */
export interface LimitRulesContext {
  /** Undefined where there are no limits to manage. */
  readonly limitRules: LimitRules | undefined
}

/** Proves the domains of organizations. */
export interface DomainContext {
  readonly resolveTxt: ResolveTxt
}

/** Everything that identity is built from. Features state the part that they need (see `features.ts`). */
export interface IdentityContext
  extends ClientAuthenticationContext,
    AttemptContext,
    TokenContext,
    PageContext,
    PasswordContext,
    MailContext,
    PlanContext,
    DomainContext,
    ProviderContext,
    LimitRulesContext,
    BuiltInContext {}
