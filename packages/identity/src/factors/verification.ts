import { tokenHash } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { FactorContext } from '../context/features.ts'
import { createNotices } from '../mail/notices.ts'
import { methodsOf } from '../model/authentication.ts'
import { readRecoveryCode } from '../model/factors/recovery-codes.ts'
import { findStep, readCode } from '../model/factors/totp.ts'
import type { User } from '../model/user.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { openSecret } from '../sessions/second-factor/totp-secret.ts'
import { type FactorAttempt, recordFactorAttempt, refundFactorAttempt } from './attempts.ts'

/** A second factor that was proven. */
export interface ProvenFactor {
  /** Its methods, in addition to those before (RFC 8176). */
  readonly amr: readonly string[]
}

/** Why a code was rejected: `challenge` ends the sign-in, the others allow another attempt. */
export interface RejectedFactor {
  readonly rejected: 'wrong' | 'limited' | 'challenge'
  /** The key of the text. */
  readonly text: string
  readonly retryAfter?: number
}

/** Verifies the code of the app, or a recovery code. Each is accepted once, whatever runs at the same time. */
export async function verifyFactor(
  context: FactorContext,
  request: FastifyRequest,
  { user, attempt }: { readonly user: User; readonly attempt: FactorAttempt },
  parameters: Parameters,
): Promise<ProvenFactor | RejectedFactor> {
  // What a person typed is brought to its form once, before anything is counted or compared.
  const recovery = parameters.get('recovery_code')
  const text = recovery === undefined ? 'factor.wrong' : 'factor.recovery.wrong'
  const code = recovery === undefined ? readCode(parameters.get('code')) : readRecoveryCode(recovery)
  if (code === undefined) return { rejected: 'wrong', text }
  const rejection = await recordFactorAttempt(context, attempt)
  if (rejection?.reason === 'challenge') return { rejected: 'challenge', text: 'factor.restart' }
  if (rejection !== undefined) {
    await reportGuesses(context, request, user)
    return { rejected: 'limited', text: 'factor.limited', retryAfter: rejection.retryAfter }
  }
  const isRight =
    recovery === undefined
      ? await acceptCode(context, user, code)
      : await acceptRecoveryCode(context, request, user, code)
  if (!isRight) {
    const details = { factor: recovery === undefined ? 'totp' : 'recovery code' }
    await audit(context, request, 'factor_failed', { subject: user.id, details })
    return { rejected: 'wrong', text }
  }
  await refundFactorAttempt(context, attempt)
  return { amr: recovery === undefined ? methodsOf.totp : methodsOf.recovery }
}

/** Tells the user that somebody who passed the first step guesses at the second one; once a day. */
async function reportGuesses(context: FactorContext, request: FastifyRequest, user: User): Promise<void> {
  const notices = createNotices(context, { user, kind: 'too_many_failures', request })
  if (notices.length === 0) return
  await context.store.outbox.put(notices)
  context.signalOutbox()
}

async function acceptCode(context: FactorContext, user: User, code: string): Promise<boolean> {
  const app = await context.store.authenticatorApps.find(user.id)
  if (app === undefined) return false
  const now = context.clock.now()
  const secret = openSecret(app.secretSealed, context.encryptionKey, user.id)
  const step = findStep(secret, code, { now, lastStep: app.lastStep })
  return step !== undefined && context.store.authenticatorApps.accept(user.id, step, now)
}

async function acceptRecoveryCode(
  context: FactorContext,
  request: FastifyRequest,
  user: User,
  code: string,
): Promise<boolean> {
  const notices = createNotices(context, { user, kind: 'recovery_code_used', request })
  const left = await context.store.recoveryCodes.use(user.id, tokenHash(code), notices)
  if (left === undefined) return false
  context.signalOutbox()
  await audit(context, request, 'recovery_code_used', { actor: user.id, subject: user.id, details: { left } })
  return true
}
