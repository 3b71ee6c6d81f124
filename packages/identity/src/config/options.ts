import type { Clock, KeyRing, Log, Registry, Secret } from '@gatehouse/kit'
import type { Branding } from '@gatehouse/kit/page'
import type { DnsOptions } from '../http/txt-resolver.ts'
import type { Notify, OnRecipient } from '../mail/messages.ts'
import type { Authenticate } from '../model/caller.ts'
import type { SigningAlgorithm } from '../model/client.ts'
import type { MfaPolicy } from '../model/factors/second-factor.ts'
import type { Lifetimes } from '../model/grants/lifetimes.ts'
import type { PasswordOptions } from '../passwords/hasher.ts'
import type { IdentityStore } from '../store/index.ts'
import type { Blocked, Forgive, Limit, Refund } from './attempt-limits.ts'
import type { ConnectionDeclaration } from './connections.ts'
import type { ClientDeclaration, ResourceDeclaration, UserDeclaration } from './declarations.ts'
import type { Features } from './features.ts'
import type { LimitRules } from './limit-rules.ts'
import type { OrganizationDeclaration, OrganizationRoleDeclaration } from './organizations.ts'

/** The declarations of the configuration file. */
export interface IdentityDeclarations {
  readonly clients?: readonly ClientDeclaration[]
  readonly users?: readonly UserDeclaration[]
  readonly resources?: readonly ResourceDeclaration[]
  readonly organizationRoles?: readonly OrganizationRoleDeclaration[]
  readonly organizations?: readonly OrganizationDeclaration[]
  readonly connections?: readonly ConnectionDeclaration[]
}

/** The options of {@link createIdentity}. */
export interface IdentityOptions {
  readonly store: IdentityStore
  /** The address of the authorization server (AUTH_URL); the claim iss. */
  readonly issuer: string
  /** The address of the API (BASE_URL). */
  readonly baseUrl: string
  /** The audience of tokens for which no resource is requested. Default: `baseUrl`. */
  readonly apiIdentifier?: string
  /** What access tokens are signed with. Default: ES256. */
  readonly accessTokenAlgorithm?: SigningAlgorithm
  /** Encrypts signing keys, mails and continuations. Of several keys the first seals, and all of them open. */
  readonly encryptionKey: Secret | KeyRing
  readonly lifetimes?: Partial<Lifetimes>
  readonly passwords?: PasswordOptions
  readonly declared?: IdentityDeclarations | undefined
  /** The client with which the services call each other. */
  readonly serviceClient?: { readonly id: string; readonly secret: Secret } | undefined
  /** Clients of the operator's own programs, which management neither deletes nor gives another secret. Default: none. */
  readonly builtInClients?: readonly string[]
  /** Keeps tiers and policies, which the gateways follow. Default: there are no limits to manage. */
  readonly limitRules?: LimitRules | undefined
  /** Secrets of declared clients that are valid beside `client_secret`, by client id. Default: none. */
  readonly furtherSecrets?: Readonly<Record<string, readonly Secret[]>>
  /** The plan of a user for whom none is named. Default: free. */
  readonly defaultPlan?: string
  /** The tiers where no limits are stored: plans of other names are refused. Default: nobody knows them. */
  readonly tiers?: readonly string[] | undefined
  readonly branding?: Partial<Branding>
  readonly features?: Partial<Features>
  /** Whether users may, or must, have a second factor. Default: off, which leaves the factors that exist in force. */
  readonly mfa?: MfaPolicy
  /** Counts attempts. Default: nothing is limited. The policies are `attemptLimitPolicies`. */
  readonly limit?: Limit | undefined
  /** Refunds a successful attempt. */
  readonly refund?: Refund | undefined
  /** Returns for how long attempts are known to be rejected. */
  readonly blocked?: Blocked | undefined
  /** Resets the counted attempts after a success. */
  readonly forgive?: Forgive | undefined
  /** Who answers for the domains of organizations. Default: the DNS servers of the system. */
  readonly dns?: DnsOptions
  /** Sends a mail through the notification service; may be called again with the same dedup_key. */
  readonly notify?: Notify | undefined
  /** Whether `notify` sends text messages too: users then set and prove their phone number. Default: false. */
  readonly sms?: boolean
  /** Called at least once for every change of a user. */
  readonly onRecipient?: OnRecipient | undefined
  readonly authenticate: Authenticate
  /** The Prometheus that reads the metrics of all processes: statistics are read there. Default: the own history. */
  readonly prometheusUrl?: Secret | undefined
  /** False for a process that only manages and leaves keys, outbox and purge to the others. Default: true. */
  readonly background?: boolean
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Registry
}
