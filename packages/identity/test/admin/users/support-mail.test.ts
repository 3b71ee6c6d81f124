import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { defaultLifetimes, mailLifetimes, type NotifyRequest } from '../../../src/index.ts'
import { managementRoles } from '../../../src/model/management-roles.ts'
import { administrators, call, consoleClient, tokenOf } from '../../support/management/administrators.ts'
import { isNotice } from '../../support/notices.ts'
import { type Running, setup } from '../../support/setup.ts'

const password = 'a long and quiet password'
const sent: Promise<NotifyRequest>[] = []
const deliver: ((mail: NotifyRequest) => void)[] = []
for (let index = 0; index < 2; index++) {
  const { promise, resolve } = Promise.withResolvers<NotifyRequest>()
  sent.push(promise)
  deliver.push(resolve)
}

let running: Running
let support: string
before(async () => {
  running = await setup({
    declared: {
      clients: [consoleClient],
      users: [
        ...administrators,
        { id: 'ada', password, email: 'ada@people.example', email_verified: true },
        { id: 'bea', password, email: 'bea@people.example' },
        { id: 'cid', password },
        ...managementRoles.map((role) => ({
          id: `a-${role}`,
          password,
          email: `${role}@people.example`,
          roles: [role],
        })),
      ],
    },
    notify: async (request) => {
      if (!isNotice(request)) deliver.shift()?.(request)
    },
  })
  support = await tokenOf(running, 'gatehouse-support')
})
after(() => running.close())

const mail = (user: string, kind: string) =>
  call(running, support, { method: 'POST', url: `/admin/v1/users/${user}/mail`, payload: { kind } })

test('support mails a link to the user’s address without seeing either', async () => {
  for (const [user, kind, event] of [
    ['ada', 'reset', 'reset_password'],
    ['bea', 'verify', 'verify_email'],
  ] as const) {
    const response = await mail(user, kind)
    assert.deepEqual([response.status, response.text], [204, ''])
    const request = await sent.shift()
    assert.deepEqual([request?.event, request?.user_id], [event, user])
    assert.match(String(request?.data.link), /\?token=/)
    assert.equal(mailLifetimes(defaultLifetimes).get(event), Number(request?.data.minutes) * 60)
  }
})

test('the password of a management role holder is never reset by a mailed link', async () => {
  const owner = await tokenOf(running, 'gatehouse-owner')
  for (const role of managementRoles) {
    const request = { method: 'POST', url: `/admin/v1/users/a-${role}/mail`, payload: { kind: 'reset' } } as const
    const response = await call(running, owner, request)
    assert.equal(response.status, 422, response.text)
    assert.match(response.text, /has a management role/)
    const { rows } = await running.database.query('SELECT FROM identity.mailed_link WHERE user_id = $1', [`a-${role}`])
    assert.equal(rows.length, 0)
  }
})

test('a mail that cannot be sent is rejected with a reason', async () => {
  for (const [user, kind, status, reason] of [
    ['ada', 'verify', 422, /already verified/],
    ['cid', 'reset', 422, /no email address/],
    ['ada', 'greeting', 400, /\/kind/],
    ['nobody', 'reset', 404, /no user/],
  ] as const) {
    const response = await mail(user, kind)
    assert.equal(response.status, status, response.text)
    assert.match(response.text, reason)
  }
})
