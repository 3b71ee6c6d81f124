import { randomBytes } from 'node:crypto'
import { randomToken, seal, tokenHash, unseal } from '@gatehouse/kit'
import { audit } from '../../audit/record.ts'
import type { PageContext } from '../../context/context.ts'
import { createNotices } from '../../mail/notices.ts'
import { methodsOf, signInMethodOf } from '../../model/authentication.ts'
import { createRecoveryCodes, readRecoveryCode } from '../../model/factors/recovery-codes.ts'
import { encodeBase32, findStep, readCode, totpSecretBytes, totpUri } from '../../model/factors/totp.ts'
import type { Session } from '../../model/grants/session.ts'
import type { User } from '../../model/user.ts'
import { PageError } from '../../pages/page-error.ts'
import type { WaitingProviderSession } from '../../store/index.ts'
import { type Browser, keepKnownDevice, setSessionCookie } from '../browser.ts'
import type { BrowserExchange } from '../sign-in-page.ts'
import { sealSecret } from './totp-secret.ts'

/** How long a secret waits for the code that proves it, in milliseconds. */
const enrolmentMs = 10 * 60_000

/** The secret of an authenticator app that is not proven yet, and for whom it was made. It counts for nothing. */
interface PendingEnrolment {
  readonly userId: string
  readonly credentialVersion: string
  readonly secret: string
  readonly browser: string
  readonly startedAt: number
}

const purpose = 'pending enrolment'

type EnrolmentContext = Pick<PageContext, 'clock' | 'encryptionKey' | 'branding'>

/** What the enrolment page shows of a secret. */
export interface ShownSecret {
  /** The secret, sealed for this browser and the user's current credentials. */
  readonly enrolment: string
  /** The address in the QR code. */
  readonly uri: string
  /** The secret as text. */
  readonly secret: string
}

/** Makes a secret for a user, to be proven by a code in this browser. */
export function startEnrolment(context: EnrolmentContext, browser: Browser, user: User): ShownSecret {
  const pending: PendingEnrolment = {
    userId: user.id,
    credentialVersion: user.credentialVersion,
    secret: randomBytes(totpSecretBytes).toString('base64url'),
    browser: tokenHash(browser.id),
    startedAt: context.clock.now(),
  }
  return showSecret(context, user, seal(JSON.stringify(pending), context.encryptionKey, purpose))
}

/** The page's content for a sealed secret, again. @throws PageError 400 for what this server did not seal */
export function showSecret(context: EnrolmentContext, user: User, enrolment: string): ShownSecret {
  const secret = Buffer.from(read(context, enrolment).secret, 'base64url')
  const uri = totpUri(secret, context.branding.name, user.email ?? user.username)
  return { enrolment, uri, secret: encodeBase32(secret) }
}

/** What an enrolment belongs to: once that has ended nothing is stored. */
export interface EnrolmentOrigin {
  /** The session that it raises, and further facts for the audit trail. */
  readonly raises?: Session | undefined
  readonly details?: Readonly<Record<string, unknown>>
  /** The sign-in at a provider that it completes. */
  readonly waiting?: WaitingProviderSession | undefined
}

/** A proven app: the user with the new credentials, and the recovery codes that are shown once, if there are new ones. */
export interface ProvenApp {
  readonly user: User
  readonly codes: readonly string[] | undefined
}

/**
 * Stores the app when the code is the secret's, and raises the session. Undefined for a wrong code.
 * @throws PageError 400 for another browser or user, after too long, and when the credentials changed or its origin ended
 *   meanwhile
 */
export async function proveApp(
  context: PageContext,
  exchange: BrowserExchange & { readonly user: User },
  { enrolment, code: typed }: { readonly enrolment: string; readonly code: string | undefined },
  { raises, details, waiting }: EnrolmentOrigin,
): Promise<ProvenApp | undefined> {
  const { request, browser, user } = exchange
  const pending = read(context, enrolment)
  const now = context.clock.now()
  const isOwn = pending.browser === tokenHash(browser.id) && pending.userId === user.id
  const isCurrent = pending.credentialVersion === user.credentialVersion && pending.startedAt + enrolmentMs >= now
  if (!isOwn || !isCurrent) throw new PageError(400, 'error.stale')
  const secret = Buffer.from(pending.secret, 'base64url')
  const code = readCode(typed)
  const step = code === undefined ? undefined : findStep(secret, code, { now, lastStep: -1 })
  if (step === undefined) return undefined
  const codes = createRecoveryCodes()
  const app = { userId: user.id, secretSealed: sealSecret(secret, context.encryptionKey, user.id), lastStep: step }
  const messages = createNotices(context, { user, kind: 'factor_added', request, facts: { factor: 'totp' } })
  const secretOfCookie = randomToken()
  const session = raises && { id: raises.id, amr: methodsOf.totp, secretHash: tokenHash(secretOfCookie) }
  const change = { userId: user.id, verified: user.credentialVersion, messages, now, session, waiting }
  const enrolled = await context.store.authenticatorApps.enrol(app, hashRecoveryCodes(codes), change)
  if (enrolled === undefined) throw new PageError(400, 'error.stale')
  context.signalOutbox()
  await audit(context, request, 'factor_added', { actor: user.id, subject: user.id, details: { factor: 'totp' } })
  const changed = { ...user, credentialVersion: enrolled.credentialVersion }
  if (raises !== undefined) await keepRaised(context, { ...exchange, user: changed }, raises, secretOfCookie, details)
  return { user: changed, codes: enrolled.storedCodes ? codes : undefined }
}

/** Sends the cookie of a session that was raised: whoever had the one before does not have this one (session fixation). */
async function keepRaised(
  context: PageContext,
  { request, reply, user }: BrowserExchange & { readonly user: User },
  session: Session,
  secret: string,
  details: EnrolmentOrigin['details'],
): Promise<void> {
  setSessionCookie(context, reply, secret)
  keepKnownDevice(context, reply, user)
  const amr = [...new Set([...session.amr, ...methodsOf.totp])]
  await audit(context, request, 'login', { subject: user.id, details: { sid: session.id, ...details, amr } })
  context.metrics.signIn('success', signInMethodOf(amr))
}

/** How recovery codes are stored. */
export function hashRecoveryCodes(codes: readonly string[]): string[] {
  return codes.map((code) => tokenHash(readRecoveryCode(code) ?? ''))
}

function read({ encryptionKey }: Pick<PageContext, 'encryptionKey'>, sealed: string): PendingEnrolment {
  try {
    return JSON.parse(unseal(sealed, encryptionKey, purpose))
  } catch {
    throw new PageError(400, 'error.stale')
  }
}
