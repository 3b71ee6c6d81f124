import { randomUUID } from 'node:crypto'
import { randomToken, tokenHash } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../../audit/record.ts'
import type { PageContext } from '../../context/context.ts'
import { createNotices } from '../../mail/notices.ts'
import type { User } from '../../model/user.ts'
import { readUserAgent, setCookie } from '../browser.ts'
import { cookie, cookieName, readCookies } from '../cookies.ts'

/** For how long a device is remembered, in seconds. */
const rememberedSeconds = 30 * 86_400

const rememberedCookie = 'gatehouse_remembered'
const cookieValue = /^[\w-]{43}$/

type DeviceContext = Pick<PageContext, 'store' | 'clock' | 'secureCookies'>

/** Whether the browser is a device that the user chose to remember, with the current credentials. */
export async function isRememberedDevice(
  { store, clock, secureCookies }: DeviceContext,
  request: FastifyRequest,
  user: User,
): Promise<boolean> {
  const value = readCookies(request.headers.cookie).get(cookieName(rememberedCookie, secureCookies)) ?? ''
  return cookieValue.test(value) && store.rememberedDevices.isValid(tokenHash(value), user.id, clock.now())
}

/** Remembers the browser: for 30 days it stands in for the second factor, though never where a level is required. */
export async function rememberDevice(
  context: PageContext,
  request: FastifyRequest,
  reply: FastifyReply,
  user: User,
): Promise<void> {
  const { store, clock, secureCookies: secure } = context
  const value = randomToken()
  const now = clock.now()
  const device = {
    id: randomUUID(),
    userId: user.id,
    userAgent: readUserAgent(request),
    createdAt: now,
    expiresAt: now + rememberedSeconds * 1000,
  }
  const notices = createNotices(context, { user, kind: 'device_remembered', request })
  if (!(await store.rememberedDevices.add(device, tokenHash(value), user.credentialVersion, notices))) return
  context.signalOutbox()
  setCookie(reply, cookie(rememberedCookie, value, { secure, maxAgeSeconds: rememberedSeconds }))
  await audit(context, request, 'device_remembered', {
    actor: user.id,
    subject: user.id,
    details: { device: device.id },
  })
}
