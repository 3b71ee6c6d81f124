import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { findRequiredConnection } from '../connections/home.ts'
import type { PasskeyContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createNotices } from '../mail/notices.ts'
import type { Passkey } from '../model/factors/passkey.ts'
import type { User } from '../model/user.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { PageError } from '../pages/page-error.ts'
import { editPasskeyPage } from '../pages/passkeys/pages.ts'
import { checkForm, findPolicy, formToken, keepKnownDevice, readBrowser } from '../sessions/browser.ts'
import { openContinuation } from '../sessions/continuation.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'
import type { BrowserExchange } from '../sessions/sign-in-page.ts'
import { passkeyNameOf } from './registration.ts'

const path = '/account/passkeys/edit'

/** GET and POST /account/passkeys/edit: renames or removes a passkey of a user who signed in a moment ago. */
export function editPasskeyEndpoint(
  context: PasskeyContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const exchange = { request, reply, browser: await readBrowser(context, request, reply) }
    if (request.method === 'POST') checkForm(context, request, exchange.browser, parameters)
    const id = readId(context, exchange, parameters)
    const recent = requireRecentSignIn(context, exchange, path, { id })
    if ('sent' in recent) return recent.sent
    const { user, factors } = recent.signedIn
    const passkeys = await context.store.passkeys.listByUser(user.id)
    const passkey = passkeys.find((one) => one.id === id)
    if (passkey === undefined) throw missing()
    if (request.method === 'GET') return sendEditPage(context, exchange, passkey)
    const isRemoval = parameters.get('decision') === 'remove'
    const isLastFactor = passkeys.length === 1 && !factors.includes('totp')
    if (isRemoval && isLastFactor && (await findPolicy(context, user.id)) === 'required')
      return sendEditPage(context, exchange, passkey, 'factors.required')
    const wrong = isRemoval
      ? await removePasskey(context, request, user, passkey)
      : await renamePasskey(context, request, user, { passkey, name: passkeyNameOf(parameters.get('name')) })
    if (wrong !== undefined) return sendEditPage(context, exchange, passkey, wrong)
    const changed = isRemoval ? await context.store.users.find(user.id) : undefined
    if (changed !== undefined) keepKnownDevice(context, reply, changed)
    return reply.redirect('/account/passkeys', 303)
  }
}

/** The passkey that the request names, or the one that led to the sign-in before it. */
function readId(context: PasskeyContext, { browser }: BrowserExchange, parameters: Parameters): string {
  const sealed = parameters.get('continuation')
  const id = sealed === undefined ? parameters.get('id') : openContinuation(context, browser, sealed).request.id
  return typeof id === 'string' ? id : ''
}

/** The key of the fault, or undefined when it was renamed. @throws PageError 404 when it was removed meanwhile */
async function renamePasskey(
  context: PasskeyContext,
  request: FastifyRequest,
  user: User,
  { passkey, name }: { readonly passkey: Passkey; readonly name: string | undefined },
): Promise<string | undefined> {
  if (name === undefined) return 'passkey.name.wrong'
  if (!(await context.store.passkeys.rename(user.id, passkey.id, name))) throw missing()
  const details = { passkey: passkey.id, name }
  await audit(context, request, 'passkey_renamed', { actor: user.id, subject: user.id, details })
  return undefined
}

/** The key of the fault, or undefined when it was removed. @throws PageError 404 when it was removed meanwhile */
async function removePasskey(
  context: PasskeyContext,
  request: FastifyRequest,
  user: User,
  { id, name }: Passkey,
): Promise<string | undefined> {
  const messages = createNotices(context, { user, kind: 'factor_removed', request, facts: { factor: 'passkey' } })
  const required = await findRequiredConnection(context, user.email)
  const removal = { userId: user.id, id, evenLast: false, required }
  const removed = await context.store.passkeys.remove(removal, messages)
  if (removed === 'missing') throw missing()
  if (removed === 'last_way') return 'passkey.remove.last'
  context.signalOutbox()
  const details = { passkey: id, name }
  await audit(context, request, 'passkey_removed', { actor: user.id, subject: user.id, details })
  return undefined
}

function sendEditPage(
  context: PasskeyContext,
  { request, reply, browser }: BrowserExchange,
  passkey: Passkey,
  wrong?: string,
): FastifyReply {
  const texts = textsFor(context, request)
  const page = editPasskeyPage(texts, { formToken: formToken(context, browser), passkey, wrong })
  return sendPage(context, reply, texts, page)
}

const missing = () => new PageError(404, 'passkey.missing', {}, { href: '/account/passkeys', text: 'back' })
