import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import type { Locator } from 'playwright-core'
import { consoleOfSuite } from '../../support/console.ts'
import { callAsDemo } from '../../support/demo-client.ts'
import { started } from '../../support/program.ts'
import { loaded, until } from '../page.ts'
import { readMailbox } from './mailbox.ts'

describe('templates in a browser', () => {
  const { tab, program, faults, heading, open, toast, faultless, reach, press } = consoleOfSuite({
    start: () => started(),
    first: ['/', 'Overview'],
  })
  const url = () => program().url
  const api = (method: string, path: string, body: object) =>
    callAsDemo(program(), 'admin:notifications write:notifications', { method, path, body })
  /** Sends an event, and waits until its SMS is in the mailbox. */
  const send = async (orderId: string): Promise<string> => {
    const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: orderId }, channels: ['sms'] }
    await api('POST', '/v1/notify', event)
    for (const deadline = AbortSignal.timeout(60_000); ; ) {
      const found = (await readMailbox(url())).find((text) => text.includes(orderId))
      if (found !== undefined) return found
      assert.ok(!deadline.aborted, `${orderId} never arrived`)
    }
  }
  const text = () => tab().getByRole('textbox', { name: 'Text', exact: true })
  const data = () => tab().getByRole('textbox', { name: 'Data as JSON' })
  const button = (name: string): Locator => tab().getByRole('button', { name, exact: true })
  const bubble = (words: string) => tab().locator('.bubble').filter({ hasText: words }).waitFor()
  const place = '/templates/order.shipped/sms/en'

  testWith('chromium', 'with the mouse a text is repaired, tried, published, sent and rolled back', async () => {
    await tab().getByRole('link', { name: 'Templates', exact: true }).click()
    await tab().locator(`a[href$="${place}"]`).click()
    await tab().getByText('SMS · en').first().waitFor()
    await data().fill('{"order_id": "A-1"}')
    await text().click()
    await tab().locator('.cm-content').waitFor()
    await text().fill('Good news\nfor {{ order_id | shout }} today')
    await tab().getByText('Line 2, column 5: undefined filter: shout').waitFor()
    assert.equal(await button('Publish').isDisabled(), true)
    await faultless('a fault')
    await button('Go there').click()
    await tab().keyboard.type('all: ')
    await tab().locator('.cm-content').filter({ hasText: 'for all: {{ order_id | shout }} today' }).waitFor()
    await text().fill('Good news for {{ order_id }} – today')
    await bubble('Good news for A-1 – today')
    await tab().getByText('UCS-2', { exact: true }).waitFor()
    await tab().getByText('– U+2013').waitFor()
    await faultless('a preview')
    await button('Send a test').click()
    await tab().getByRole('dialog').getByRole('button', { name: 'Send', exact: true }).click()
    await tab()
      .getByText(/^accepted by /)
      .waitFor()
    assert.ok((await readMailbox(url())).includes('Good news for A-1 – today'))
    await tab().getByRole('dialog').getByRole('button', { name: 'Close', exact: true }).last().click()
    await tab().getByLabel('Comment').first().fill('good news')
    await button('Publish').click()
    await toast('The text was published.')
    await tab().getByText('version 2, in use').waitFor()
    assert.equal(await send('A-2'), 'Good news for A-2 – today')
    await button('Publish: Version 1').click()
    await tab().getByRole('dialog').getByRole('button', { name: 'Publish', exact: true }).click()
    await toast('Version 1 is in use.')
    assert.match(await send('A-3'), /^Order A-3 is on its way/)
    await tab().getByRole('row').filter({ hasText: 'good news' }).filter({ hasText: 'alice' }).waitFor()
  })

  testWith('chromium', 'with the keyboard alone the same is done', async () => {
    const { keyboard } = tab()
    await open('/users', 'Users')
    await keyboard.press('g')
    await keyboard.press('m')
    await heading('Templates')
    await loaded(tab())
    await reach(tab().locator(`a[href$="${place}"]`))
    await keyboard.press('Enter')
    await tab().getByText('SMS · en').first().waitFor()
    await loaded(tab())
    await reach(text().or(tab().locator('.cm-content')))
    await until(tab(), "document.activeElement.classList.contains('cm-content')")
    await keyboard.press('Control+A')
    await keyboard.type('By keys, {{ order_id | shout }}')
    await tab().getByText('Line 1, column 10: undefined filter: shout').waitFor()
    await keyboard.press('Escape')
    await press('Go there')
    await until(tab(), "document.activeElement.classList.contains('cm-content')")
    await keyboard.press('Control+A')
    await keyboard.type('By keys, {{ order_id }}')
    await keyboard.press('Escape')
    await reach(data())
    await keyboard.press('Control+A')
    await keyboard.insertText('{"order_id": "A-4"}')
    await bubble('By keys, A-4')
    await press('Send a test', 'Shift+Tab')
    await tab().getByRole('dialog').waitFor()
    await press('Send')
    await tab()
      .getByText(/^accepted by /)
      .waitFor()
    await keyboard.press('Escape')
    await tab().getByRole('dialog').waitFor({ state: 'detached' })
    await press('Publish')
    await tab().getByText('version 3, in use').waitFor()
    assert.equal(await send('A-5'), 'By keys, A-5')
    await press('Publish: Version 1')
    await tab().getByRole('dialog').waitFor()
    await press('Publish')
    await toast('Version 1 is in use.')
    assert.match(await send('A-6'), /^Order A-6 is on its way/)
  })

  testWith('chromium', 'of two editors the second sees theirs and the difference, and loses nothing', async () => {
    await open(place, 'order.shipped')
    await text().click()
    await tab().locator('.cm-content').waitFor()
    await text().fill('Mine for {{ order_id }}')
    await api('PUT', '/v1/templates/order.shipped/sms/en', { body: 'Theirs for {{ order_id }}', comment: 'in a hurry' })
    await button('Save draft').click()
    const dialog = tab().getByRole('dialog', { name: 'Somebody else changed this' })
    await dialog.waitFor()
    await dialog.getByText('in a hurry').waitFor()
    const difference = dialog.getByRole('region', { name: 'Difference' })
    assert.match(
      (await difference.textContent()) ?? '',
      /−[^+]*Theirs for \{\{ order_id \}\}[^−]*\+[^−]*Mine for \{\{ order_id \}\}/,
    )
    await faultless('a conflict')
    await dialog.getByRole('button', { name: 'Go on writing' }).click()
    await tab().getByRole('button', { name: 'Save draft' }).click()
    await dialog.getByRole('button', { name: 'Save mine after it' }).click()
    await toast('The draft was saved.')
    assert.match(await send('A-7'), /^Theirs for A-7/)
    await tab()
      .getByText(/^version \d+, not in use$/)
      .waitFor()
  })

  testWith('chromium', 'a version is put into use after a conflict, and not what is being written', async () => {
    await api('PUT', '/v1/templates/order.shipped/sms/en', { body: 'Another for {{ order_id }}' })
    await open(place, 'order.shipped')
    await text().click()
    await tab().locator('.cm-content').waitFor()
    await text().fill('Unfinished for {{ order_id }}')
    await api('PUT', '/v1/templates/order.shipped/sms/en', { body: 'Meanwhile for {{ order_id }}' })
    await button('Publish: Version 1').click()
    await tab().getByRole('dialog').getByRole('button', { name: 'Publish', exact: true }).click()
    const dialog = tab().getByRole('dialog', { name: 'Somebody else changed this' })
    const difference = dialog.getByRole('region', { name: 'Difference' })
    assert.match(
      (await difference.textContent()) ?? '',
      /−[^+]*Meanwhile for [^−]*\+[^−]*Order \{\{ order_id \}\} is on/,
    )
    assert.doesNotMatch((await dialog.textContent()) ?? '', /Unfinished/)
    await faultless('a conflict about a version')
    await dialog.getByRole('button', { name: 'Publish: Version 1' }).click()
    await toast('Version 1 is in use.')
    assert.match(await send('A-8'), /^Order A-8 is on its way/)
    await tab().locator('.cm-content').filter({ hasText: 'Unfinished for' }).waitFor()
    await tab().getByText('not saved').waitFor()
    await api('PUT', '/v1/templates/order.shipped/sms/en', { body: 'Once more for {{ order_id }}' })
    await button('Publish: Version 2').click()
    await tab().getByRole('dialog').getByRole('button', { name: 'Publish', exact: true }).click()
    await dialog.getByRole('button', { name: 'Take theirs' }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.match(await send('A-9'), /^Once more for A-9/)
    await tab().locator('.cm-content').filter({ hasText: 'Unfinished for' }).waitFor()
  })

  testWith('chromium', 'a sample that somebody else kept meanwhile is read, and stays beside mine', async () => {
    await open(place, 'order.shipped')
    await data().fill('{"order_id": "mine"}')
    await api('PUT', '/v1/templates/order.shipped/samples', { items: [{ name: 'theirs', data: { order_id: 'B-1' } }] })
    await tab().getByLabel('Keep as').fill('mine')
    await button('Keep').click()
    await tab().getByText('Somebody else changed the samples meanwhile.', { exact: false }).waitFor()
    await tab()
      .getByLabel('Sample', { exact: true })
      .locator('option', { hasText: 'theirs' })
      .waitFor({ state: 'attached' })
    assert.equal(await data().inputValue(), '{"order_id": "mine"}')
    await button('Keep').click()
    await toast('The samples were saved.')
    await tab().getByLabel('Sample', { exact: true }).selectOption('mine')
    await button('Remove').click()
    await tab()
      .getByLabel('Sample', { exact: true })
      .locator('option', { hasText: 'mine' })
      .waitFor({ state: 'detached' })
    await tab().getByLabel('Sample', { exact: true }).selectOption('theirs')
  })

  testWith('chromium', 'an event type is made, explained, refused by field, and changed by two at once', async () => {
    await open('/event-types', 'Event types')
    await button('New event type').click()
    await tab().getByRole('dialog').getByLabel('Event type').fill('parcel.lost')
    await button('Open').click()
    await tab().getByText('There is no such event type yet.').waitFor()
    await tab().getByLabel('Priority').selectOption('critical')
    await tab().getByText('Passes caps and quiet hours').waitFor()
    await tab().getByLabel('Template').fill('no.such.template')
    await button('Save').click()
    await tab().getByText('names the template no.such.template, which has no published text').first().waitFor()
    await tab().getByLabel('Template').fill('order.shipped')
    await button('Save').click()
    await toast('The event type was saved.')
    await faultless('an event type')
    await api('PUT', '/v1/event-types/parcel.lost', { channels: ['sms'], template_id: 'order.shipped' })
    await tab().getByLabel('Title').fill('Lost parcels')
    await button('Save').click()
    const dialog = tab().getByRole('dialog', { name: 'Somebody else changed this' })
    await dialog.getByRole('button', { name: 'Take theirs' }).click()
    assert.equal(await tab().getByRole('checkbox', { name: 'SMS' }).isChecked(), true)
    assert.equal(await tab().getByLabel('Title').inputValue(), '')
  })

  testWith('chromium', 'no page broke a rule of its policy or threw', () => {
    assert.deepEqual(faults(), [])
  })

  testWith('chromium', 'a hostile mail runs nothing, leads nowhere and reaches nobody', async () => {
    const victim = await tab().context().newPage()
    const reached: string[] = []
    const stranger = await listen((address) => reached.push(address))
    try {
      const origin = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`
      const html = hostileMail(origin)
      const draft = { subject: 'Hostile', body: '', html }
      await api('PUT', '/v1/templates/hostile/email/en', draft)
      await victim.goto(`${url()}/console/templates/hostile/email/en`)
      const frame = victim.frameLocator('iframe')
      await frame.getByText('Dear victim').waitFor()
      await frame.getByRole('button', { name: 'Pay' }).click()
      await frame.getByRole('link', { name: 'here' }).click({ noWaitAfter: true })
      await victim.getByText('Dark', { exact: true }).click()
      await frame.getByText('Dear victim').waitFor()
      // The same past the pages, which keep the browser quiet: the policy alone has to hold.
      await victim.evaluate(
        `(async () => {
          const headers = { 'x-console': '1', 'content-type': 'application/json' }
          const body = JSON.stringify({ html: ${JSON.stringify(html)} })
          const { id } = await (await fetch('/console/api/preview', { method: 'POST', headers, body })).json()
          const frame = document.createElement('iframe')
          frame.name = 'raw'
          frame.src = '/console/preview/' + id
          const loaded = new Promise((done) => frame.addEventListener('load', done))
          document.body.append(frame)
          await loaded
        })()`,
      )
      await victim.frameLocator('iframe[name=raw]').getByText('Dear victim').waitFor()
      assert.deepEqual(reached, [])
      assert.equal(new URL(victim.url()).pathname, '/console/templates/hostile/email/en')
      assert.equal(await victim.evaluate('globalThis.hacked'), undefined)
      for (const { url: address } of victim.frames().map((each) => ({ url: each.url() })))
        assert.ok(address.startsWith(`${url()}/console/`) || address.startsWith('chrome-error:'), address)
      await fetch(`${origin}/control`)
      assert.deepEqual(reached, ['/control'], 'the stranger listens')
    } finally {
      stranger.closeAllConnections()
      stranger.close()
      await victim.close()
    }
  })
})

/** A server that nobody should reach; connections without a request count too. */
async function listen(onReached: (address: string) => void): Promise<Server> {
  const server = createServer((request, response) => {
    onReached(request.url ?? '')
    response.end('x')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return server
}

/** Everything that a document may do to run a script, go elsewhere or load something. */
function hostileMail(origin: string): string {
  return `<html><head>
    <meta http-equiv="refresh" content="0;url=${origin}/refresh"><base href="${origin}/">
    <link rel="stylesheet" href="${origin}/style"><link rel="preconnect" href="${origin}"><link rel="prefetch" href="${origin}/prefetch">
    <style>@import url(${origin}/import); @font-face{font-family:f;src:url(${origin}/font)} body{font-family:f;background:url(${origin}/background)}</style>
    <script src="${origin}/script"></script><script>top.hacked = 1; fetch('${origin}/fetch'); location = '${origin}/location'</script>
    </head><body onload="top.hacked = 2"><p>Dear victim</p>
    <img src="${origin}/image" srcset="${origin}/set 2x" onerror="top.hacked = 3"><table background="${origin}/table"></table>
    <iframe src="${origin}/frame"></iframe><object data="${origin}/object"></object><embed src="${origin}/embed">
    <video src="${origin}/video" poster="${origin}/poster" autoplay></video><audio src="${origin}/audio" autoplay></audio>
    <svg onload="top.hacked = 4"><image href="${origin}/svg"></image></svg>
    <form action="${origin}/form" target="_top"><input name="card"><button autofocus onfocus="top.hacked = 5">Pay</button></form>
    <a href="${origin}/link" target="_top" ping="${origin}/ping">here</a></body></html>`
}
