import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { FactorContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createNotices } from '../mail/notices.ts'
import { createRecoveryCodes, fewRecoveryCodes } from '../model/factors/recovery-codes.ts'
import { factorsPage } from '../pages/account/factors-page.ts'
import { recoveryCodesPage } from '../pages/account/recovery-codes-page.ts'
import { messagePage } from '../pages/error-page.ts'
import { type NextStep, PageError } from '../pages/page-error.ts'
import { checkForm, findPolicy, formToken, keepKnownDevice, readBrowser } from '../sessions/browser.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'
import { hashRecoveryCodes } from '../sessions/second-factor/enrolment.ts'
import { type BrowserExchange, sendSignInPage } from '../sessions/sign-in-page.ts'
import type { SignedIn } from '../store/index.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

const path = '/account/factors'
const factorsNext: NextStep = { href: path, text: 'back' }
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** GET /account/factors: what the user has enrolled, and the remembered devices. */
export function factorsEndpoint(context: FactorContext): Handler {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    const { signedIn } = browser
    if (signedIn === undefined) return sendSignInPage(context, { request, reply, browser }, path)
    const { user, factors } = signedIn
    const policy = await findPolicy(context, user.id)
    const enrolled = await context.store.factors.find(user.id)
    const { recoveryCodes } = enrolled
    const app = enrolled.factors.find(({ kind }) => kind === 'totp')
    const hasFactor = factors.length > 0
    const texts = textsFor(context, request)
    const page = factorsPage(texts, {
      formToken: formToken(context, browser),
      app,
      hasFactor,
      recoveryCodes,
      hasFewCodes: recoveryCodes <= fewRecoveryCodes,
      mayEnrol: policy !== 'off' || hasFactor,
      mayRemove: policy !== 'required' || factors.length > 1,
      devices: await context.store.rememberedDevices.listByUser(user.id, context.clock.now()),
    })
    return sendPage(context, reply, texts, page)
  }
}

/** POST /account/factors: removes the app, makes new recovery codes, or forgets remembered devices. */
export function changeFactorsEndpoint(context: FactorContext): Handler {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const browser = await readBrowser(context, request, reply)
    checkForm(context, request, browser, parameters)
    const exchange = { request, reply, browser }
    const action = parameters.get('action')
    if (browser.signedIn !== undefined && (action === 'forget_device' || action === 'forget_devices')) {
      const only = action === 'forget_device' ? (parameters.get('device_id') ?? '') : undefined
      await forgetDevices(context, request, browser.signedIn, only)
      return reply.redirect(path, 303)
    }
    const recent = requireRecentSignIn(context, exchange, path)
    if ('sent' in recent) return recent.sent
    if (action === 'remove_app') return removeApp(context, exchange, recent.signedIn)
    if (action === 'new_codes') return renewCodes(context, exchange, recent.signedIn)
    throw new PageError(400, 'error.form')
  }
}

/** @throws PageError 400 when the user must keep it, or the credentials changed meanwhile */
async function removeApp(
  context: FactorContext,
  { request, reply }: BrowserExchange,
  { user, factors }: SignedIn,
): Promise<FastifyReply> {
  const isLast = factors.every((kind) => kind === 'totp')
  if (isLast && (await findPolicy(context, user.id)) === 'required')
    throw new PageError(400, 'factors.required', {}, factorsNext)
  const messages = createNotices(context, { user, kind: 'factor_removed', request, facts: { factor: 'totp' } })
  const change = { userId: user.id, verified: user.credentialVersion, messages, now: context.clock.now() }
  const credentialVersion = await context.store.authenticatorApps.remove(change)
  if (credentialVersion === undefined) throw new PageError(400, 'error.stale', {}, factorsNext)
  context.signalOutbox()
  await audit(context, request, 'factor_removed', { actor: user.id, subject: user.id, details: { factor: 'totp' } })
  keepKnownDevice(context, reply, { id: user.id, credentialVersion })
  const texts = textsFor(context, request)
  const key = isLast ? 'factors.app.removed' : 'factors.app.removed.other'
  return sendPage(context, reply, texts, messagePage(texts, key, { next: factorsNext }))
}

/** Shows new codes; the old ones are void. @throws PageError 400 without a factor, or when the credentials changed */
async function renewCodes(
  context: FactorContext,
  { request, reply }: BrowserExchange,
  { user }: SignedIn,
): Promise<FastifyReply> {
  const codes = createRecoveryCodes()
  const messages = createNotices(context, { user, kind: 'recovery_codes_regenerated', request })
  const change = { userId: user.id, verified: user.credentialVersion, messages, now: context.clock.now() }
  if (!(await context.store.recoveryCodes.replace(hashRecoveryCodes(codes), change)))
    throw new PageError(400, 'error.stale', {}, factorsNext)
  context.signalOutbox()
  await audit(context, request, 'recovery_codes_created', { actor: user.id, subject: user.id })
  const texts = textsFor(context, request)
  return sendPage(context, reply, texts, recoveryCodesPage(texts, { codes, to: path }))
}

async function forgetDevices(
  context: FactorContext,
  request: FastifyRequest,
  { user }: SignedIn,
  only: string | undefined,
): Promise<void> {
  if (only !== undefined && !uuid.test(only)) return
  const count = await context.store.rememberedDevices.remove(user.id, only)
  if (count === 0) return
  const details = { count, ...(only === undefined ? {} : { device: only }) }
  await audit(context, request, 'device_forgotten', { actor: user.id, subject: user.id, details })
}
