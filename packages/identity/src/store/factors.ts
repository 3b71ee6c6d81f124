import type { FactorKind } from '../model/factors/second-factor.ts'
import type { WaitingProviderSession } from './connections.ts'
import type { OutboxMessage } from './operations.ts'
import type { RaisedSession, SignOutOptions } from './sessions.ts'
import type { ExpectedRoles } from './users.ts'

/** A factor that a user has enrolled. Times are Unix milliseconds. */
export interface Factor {
  readonly kind: FactorKind
  readonly createdAt: number
  readonly usedAt: number | undefined
}

/** What a user has enrolled, of every kind. */
export interface EnrolledFactors {
  readonly factors: readonly Factor[]
  /** How many recovery codes are left. */
  readonly recoveryCodes: number
  /** Whether an administrator reset the factors, and none was enrolled since. */
  readonly mustEnrol: boolean
}

/** The authenticator app of a user. Its secret is sealed. */
export interface AuthenticatorApp {
  readonly userId: string
  readonly secretSealed: string
  /** The newest time step whose code was accepted: it and older ones are never accepted again. */
  readonly lastStep: number
}

/** What a change of factors depends on, and the messages that are sent when it is made. */
export interface FactorChange {
  readonly userId: string
  /** The credentials of the user who makes it: it happens only while they are current. */
  readonly verified: string
  readonly messages: readonly OutboxMessage[]
  readonly now: number
}

/** What an enrolment depends on beside the credentials: what it is part of, where that can end. */
export interface EnrolmentChange extends FactorChange {
  /** The session that it raises. */
  readonly session?: RaisedSession | undefined
  /** The sign-in that it completes. */
  readonly waiting?: WaitingProviderSession | undefined
}

/** What an enrolment resulted in. */
export interface Enrolment {
  /** The new version of the credentials: sign-ins and remembered devices of the version before are void. */
  readonly credentialVersion: string
  /** Whether the recovery codes were stored; false when the user had some. */
  readonly storedCodes: boolean
}

/** The factors of users, of every kind. */
export interface Factors {
  find(userId: string): Promise<EnrolledFactors>
  /**
   * Deletes every factor, recovery code and remembered device, makes the user enrol at the next sign-in, and ends what a
   * reset of the password ends: sessions, grants, mailed links and API keys. False when there is no such user.
   * @throws RolesChanged
   */
  reset(
    userId: string,
    end: SignOutOptions,
    messages: readonly OutboxMessage[],
    expectedRoles?: ExpectedRoles,
  ): Promise<boolean>
}

/** Authenticator apps: one for each user at most. */
export interface AuthenticatorApps {
  find(userId: string): Promise<AuthenticatorApp | undefined>
  /**
   * Stores an app whose code was proven, in place of the one before, and the recovery codes of a user who has none; and
   * raises the session, whose cookie changes. Undefined, without effect, when the credentials have changed, the session
   * has ended, or a logout at the provider made the sign-in void.
   */
  enrol(app: AuthenticatorApp, codeHashes: readonly string[], change: EnrolmentChange): Promise<Enrolment | undefined>
  /** Accepts a code by its step. False when it, or a later one, was accepted before. */
  accept(userId: string, step: number, now: number): Promise<boolean>
  /**
   * Removes the app; the recovery codes go with the last factor. Returns the new version of the credentials; undefined,
   * without effect, when they have changed or there is no app.
   */
  remove(change: FactorChange): Promise<string | undefined>
}

/** Recovery codes, by their hashes. */
export interface RecoveryCodes {
  /** Uses a code, with messages for the outbox; returns how many are left, or undefined when it is not valid. */
  use(userId: string, hash: string, messages: readonly OutboxMessage[]): Promise<number | undefined>
  /** Replaces all codes of a user who has a factor. False, without effect, otherwise and when the credentials changed. */
  replace(hashes: readonly string[], change: FactorChange): Promise<boolean>
}

/** A device that stands in for the second factor of its user. Times are Unix milliseconds. */
export interface RememberedDevice {
  readonly id: string
  readonly userId: string
  readonly userAgent: string
  readonly createdAt: number
  readonly expiresAt: number
}

/** Remembered devices. Each is valid while the user's credentials are those that it was stored with. */
export interface RememberedDevices {
  /** False, without effect, when the credentials have changed. */
  add(
    device: RememberedDevice,
    hash: string,
    credentialVersion: string,
    messages: readonly OutboxMessage[],
  ): Promise<boolean>
  isValid(hash: string, userId: string, now: number): Promise<boolean>
  listByUser(userId: string, now: number): Promise<RememberedDevice[]>
  /** Removes one device of the user, or all of them. Returns how many. */
  remove(userId: string, id: string | undefined): Promise<number>
}
