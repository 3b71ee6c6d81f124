import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { OverviewContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createRecipientMessage } from '../mail/messages.ts'
import { normalizeName, type User } from '../model/user.ts'
import { messagePage } from '../pages/error-page.ts'
import { type Field, formPage } from '../pages/form-page.ts'
import { type NextStep, PageError } from '../pages/page-error.ts'
import { checkForm, clearSessionCookie, formToken, readBrowser } from '../sessions/browser.ts'
import { signOutOptions } from '../sessions/end-session.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'

const nameField: Field = { name: 'account', text: 'deletion.name', type: 'text', autocomplete: 'off' }
const accountNext: NextStep = { href: '/account', text: 'back' }

/** GET and POST /account/delete: deletes the account once its name was entered, and ends everything of it. */
export function deleteAccountEndpoint(
  context: OverviewContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    const parameters = pageParameters(request)
    if (request.method === 'POST') checkForm(context, request, browser, parameters)
    const recent = requireRecentSignIn(context, { request, reply, browser }, '/account/delete')
    if ('sent' in recent) return recent.sent
    const { user } = recent.signedIn
    const texts = textsFor(context, request)
    const form = {
      key: 'deletion',
      action: '/account/delete',
      formToken: formToken(context, browser),
      fields: [nameField],
      values: { user: user.email ?? user.username },
      back: accountNext,
    }
    if (request.method === 'GET') return sendPage(context, reply, texts, formPage(texts, form))
    if (!isNameOf(user, parameters.get('account') ?? '')) {
      const wrong = { wrong: 'deletion.wrong', wrongField: 'account' }
      return sendPage(context, reply, texts, formPage(texts, { ...form, ...wrong }))
    }
    await deleteAccount(context, request, user)
    clearSessionCookie(context, reply)
    return sendPage(context, reply, texts, messagePage(texts, 'deletion.done'))
  }
}

function isNameOf(user: User, text: string): boolean {
  const name = normalizeName(text)
  return name === user.username || name === user.email?.toLowerCase()
}

/** @throws PageError 409 for the last owner of the installation */
async function deleteAccount(context: OverviewContext, request: FastifyRequest, user: User): Promise<void> {
  const messages = [createRecipientMessage(context, user.id)]
  const result = await context.store.users.remove(user.id, signOutOptions(context), messages)
  if (result === 'last_owner') throw new PageError(409, 'deletion.last_owner', {}, accountNext)
  context.signalOutbox()
  if (result === 'changed') await audit(context, request, 'user_deleted', { actor: user.id, subject: user.id })
}
