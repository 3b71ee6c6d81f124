import assert from 'node:assert/strict'
import { Secret } from '@gatehouse/kit'
import type { NotifyOptions } from '../../../src/index.ts'
import { eventually, type Setup, seedEventType, setup } from '../setup.ts'

export const baseUrl = 'https://notify.example'
export const linkSecret = new Secret('a secret of thirty-two characters or more')

/** The service with links, and a way to send alice a mail and see what went out. */
export async function setupMailLinks(
  context: { after(end: () => Promise<void>): void },
  settings: object = {},
  event = 'order.shipped',
  options: Partial<NotifyOptions> = {},
) {
  const s = await setup({ linkSecret, publicUrl: baseUrl, options })
  context.after(() => s.close())
  await seedEventType(s, event, settings)
  await s.call('PUT', `/v1/templates/${event}/email/en`, {
    subject: 'Order',
    body: 'It left.',
    html: '<html><body><p>It left. <a class="x" href="https://shop.example/?a=1&amp;b=2">Track</a> <a href="mailto:a@b.c">Write</a></p></body></html>',
  })
  return {
    ...s,
    async mail(data: object = {}) {
      const sent = await s.call('POST', '/v1/notify', { event, user_id: 'alice', data, channels: ['email'] })
      const mails = async () => (await s.call('GET', '/dev/mailbox')).body.messages
      const id = sent.body.deliveries[0].id
      const all = await eventually(mails, (list) =>
        list.some((each: { delivery_id: string }) => each.delivery_id === id),
      )
      const found = all.find((each: { delivery_id: string }) => each.delivery_id === id)
      return { notificationId: sent.body.id as string, text: found.body as string, html: found.html as string }
    },
  }
}

export const pathOf = (text: string, path: string) =>
  new RegExp(`${baseUrl}(${path}[\\w.-]+)`).exec(text)?.[1] ?? assert.fail(`no ${path} in ${text}`)

export async function stateOf(s: Setup, id: string): Promise<string> {
  return (await s.call('GET', `/v1/notifications/${id}`)).body.deliveries[0].state
}

export const reader = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }

export const asForm = { 'content-type': 'application/x-www-form-urlencoded', origin: baseUrl }

/** What a browser would send of a page that nothing was changed on. */
export function readShownLinks(page: string): [string, string][] {
  const hidden = [...page.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)]
  const boxes = [...page.matchAll(/type="checkbox" name="([^"]+)" value="([^"]+)" checked/g)]
  const fields = [...page.matchAll(/<input id="\w+" name="(\w+)"[^>]*? value="([^"]*)"/g)]
  return [...hidden, ...boxes, ...fields].map(([, name = '', value = '']): [string, string] => [name, value])
}
