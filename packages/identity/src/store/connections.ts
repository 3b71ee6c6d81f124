import type { Connection } from '../model/connection.ts'
import type { User } from '../model/user.ts'
import type { OutboxMessage } from './operations.ts'
import type { NewUser } from './users.ts'

/** A connection to create, or the new state of one. */
export interface NewConnection extends Pick<Connection, 'id' | 'settings'> {
  /** Undefined keeps the secrets of an existing connection. */
  readonly secretSealed: string | undefined
}

/** Connections to other identity providers. */
export interface Connections {
  find(id: string): Promise<Connection | undefined>
  /** All of them, in the order of their ids: there are few. */
  list(): Promise<Connection[]>
  /** False when the id is in use. */
  create(connection: NewConnection, now: number): Promise<boolean>
  /** Updates a connection that was not updated since it was read as `expected`. */
  update(
    connection: NewConnection,
    expected: Pick<Connection, 'settings' | 'updatedAt'>,
    now: number,
  ): Promise<'changed' | 'missing' | 'outdated'>
  /** Deletes the connection and the links of users to it. */
  remove(id: string): Promise<boolean>
}

/** A browser's way to a provider and back, which was sealed when it began. Used once. */
export interface ConnectionFlow {
  /** Of the parameter `state`. */
  readonly hash: string
  readonly connectionId: string
  /** Of the browser's own cookie. */
  readonly browserHash: string
  readonly sealed: string
  /** Sealed: what the browser resumes. */
  readonly continuation: string
  readonly expiresAt: number
}

/** A flow whose browser came back. */
export interface ConsumedFlow extends Pick<ConnectionFlow, 'sealed' | 'continuation'> {
  readonly responseSealed: string | undefined
}

/** The flows that wait for the provider's response. */
export interface ConnectionFlows {
  put(flow: ConnectionFlow): Promise<void>
  /** Stores a response that came without the browser's cookies, sealed. True for the first one of a flow. */
  putResponse(hash: string, connectionId: string, responseSealed: string, now: number): Promise<boolean>
  /** Consumes the flow of this browser at this connection: returned to exactly one caller. */
  consume(
    flow: Pick<ConnectionFlow, 'hash' | 'connectionId' | 'browserHash'>,
    now: number,
  ): Promise<ConsumedFlow | undefined>
}

/** Who a user is at a provider: unique. */
export interface UpstreamAccount {
  readonly connectionId: string
  readonly issuer: string
  readonly subject: string
}

/** The link of a user to an account at a provider. Times are Unix milliseconds. */
export interface LinkedAccount extends UpstreamAccount {
  readonly id: string
  /** The email address at the provider when it was linked. */
  readonly email: string | undefined
  readonly linkedAt: number
  readonly usedAt: number
}

/** A link to add. */
export type NewLink = UpstreamAccount & { readonly email: string | undefined }

/** The account that a link is added to, as it was verified: the link is added only while it is still so. */
export interface LinkTarget {
  readonly userId: string
  readonly credentialVersion: string
  /** The verified email address that justifies a link without a question. */
  readonly verifiedEmail?: string
}

/** The links of users to accounts at providers. */
export interface LinkedAccounts {
  /** The user of an upstream account, through an enabled connection; records the use. */
  use(account: UpstreamAccount, now: number): Promise<User | undefined>
  listByUser(userId: string): Promise<LinkedAccount[]>
  /** Adds a link; `other_user` when the upstream account belongs to another user, `outdated` when the target changed. */
  add(
    target: LinkTarget,
    link: NewLink,
    messages: readonly OutboxMessage[],
    now: number,
  ): Promise<'linked' | 'other_user' | 'outdated'>
  /** Creates a user with a link. False when the upstream account was linked meanwhile. @throws NameConflict */
  createUser(user: NewUser, link: NewLink, messages: readonly OutboxMessage[], now: number): Promise<boolean>
  /**
   * Removes a link of the user, who then has another way to sign in. What was verified through it is void.
   */
  remove(
    userId: string,
    linkId: string,
    messages: readonly OutboxMessage[],
  ): Promise<'removed' | 'missing' | 'last_way'>
}
