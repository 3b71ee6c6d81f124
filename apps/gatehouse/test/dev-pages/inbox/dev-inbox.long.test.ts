import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, describe } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import { type Browser, chromium, type Page } from 'playwright-core'
import { everyLook, faultless } from '../../support/accessibility.ts'
import { type Program, started } from '../../support/program.ts'

/** A way to the program that can be cut. */
async function startWire(program: Program) {
  const open = new Set<Socket>()
  let cut = false
  const server = createServer((socket) => {
    if (cut) return socket.destroy()
    const onward = connect(Number(new URL(program.url).port), '127.0.0.1')
    for (const end of [socket, onward]) {
      open.add(end)
      end.once('close', () => open.delete(end)).on('error', () => {})
    }
    socket.pipe(onward).pipe(socket)
    socket.once('close', () => onward.destroy())
    onward.once('close', () => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    cut() {
      cut = true
      for (const socket of open) socket.destroy()
    },
    restore() {
      cut = false
    },
    close() {
      for (const socket of open) socket.destroy()
      server.close()
    },
  }
}

const badge = (tab: Page, count: number) => tab.locator('.badge', { hasText: new RegExp(`^${count}$`) }).waitFor()
const focused = "document.querySelector('gatehouse-inbox').shadowRoot.activeElement?.dataset.key ?? ''"

describe('the inbox in a browser', () => {
  let program: Program | undefined
  let wire: Awaited<ReturnType<typeof startWire>> | undefined
  let browser: Browser | undefined
  let page: Page | undefined

  before(async () => {
    const executablePath = findProgram('chromium')
    if (executablePath === undefined) return
    program = await started({ metrics: true })
    wire = await startWire(program)
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    page = await browser.newPage()
    await page.goto(`${wire.url}/dev/inbox`)
  })
  after(async () => {
    await browser?.close()
    wire?.close()
    await program?.stop()
  })
  const shown = () => page ?? assert.fail('there is no page')

  let sent = 0
  /** Has the program send alice something, past the page and its connection. */
  const notify = async (times: number = 1) => {
    const script = await (await fetch(`${program?.url}/dev/inbox/page.js`)).text()
    const token = /const token = "([^"]+)"/.exec(script)?.[1]
    for (let n = 0; n < times; n++) {
      const answer = await fetch(`${program?.url}/v1/notify`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          event: 'order.shipped',
          user_id: 'alice',
          channels: ['in-app'],
          data: { order_id: `N-${++sent}`, name: 'Alice', tracking_url: 'https://example.com' },
        }),
      })
      assert.equal(answer.status, 202, await answer.text())
    }
  }

  testWith(
    'chromium',
    'the badge moves by itself after POST /v1/notify, and what came is said to a screen reader',
    async () => {
      await notify()
      await badge(shown(), 1)
      assert.equal(await shown().locator('.bell').getAttribute('aria-label'), 'Notifications, 1 new')
      await shown().locator('[aria-live=polite]', { hasText: 'N-1' }).waitFor({ state: 'attached' })
    },
  )

  testWith('chromium', 'a connection that was cut is resumed without a miss or a double', async () => {
    await notify()
    await badge(shown(), 2)
    wire?.cut()
    await notify(2)
    wire?.restore()
    await badge(shown(), 4)
    await shown().locator('.bell').click()
    const titles = await shown().locator('li.item').allTextContents()
    for (const order of ['N-1', 'N-2', 'N-3', 'N-4'])
      assert.equal(titles.filter((text) => text.includes(order)).length, 1)
    await shown().keyboard.press('Escape')
  })

  testWith('chromium', 'what stays on screen counts as seen: the badge goes, unread stays', async () => {
    await shown().locator('.bell').click()
    await shown().locator('.badge').waitFor({ state: 'hidden' })
    assert.match((await shown().locator('.bar').textContent()) ?? '', /Unread \(4\)/)
    await shown().keyboard.press('Escape')
  })

  testWith(
    'chromium',
    'with the keyboard alone it is opened, walked through, read, archived, left and closed',
    async () => {
      const tab = shown()
      const { keyboard } = tab
      await tab.reload()
      await tab.locator('.bell').waitFor()
      for (let n = 0; n < 20 && (await tab.evaluate('document.activeElement.localName')) !== 'gatehouse-inbox'; n++)
        await keyboard.press('Tab')
      await keyboard.press('Enter')
      await tab.locator('.panel').waitFor()
      await keyboard.press('ArrowDown')
      const first = await tab.evaluate(focused)
      assert.match(String(first), /^open /)
      await keyboard.press('ArrowDown')
      assert.notEqual(await tab.evaluate(focused), first)
      await keyboard.press('ArrowUp')
      await keyboard.press('Enter')
      await tab.locator('li.item:not(.unread)').waitFor()
      assert.equal(await tab.evaluate(focused), first, 'the focus stays')
      await keyboard.press('Tab')
      await keyboard.press('Tab')
      assert.match(String(await tab.evaluate(focused)), /^archived /)
      await keyboard.press('Enter')
      while ((await tab.locator('li.item').count()) !== 3) await tab.evaluate('new Promise(requestAnimationFrame)')
      assert.match(String(await tab.evaluate(focused)), /^open /, 'the neighbour of what is gone has the focus')
      for (let n = 0; n < 30; n++) {
        await keyboard.press('Tab')
        assert.notEqual(await tab.evaluate(focused), '', 'the focus does not leave the open panel')
      }
      await keyboard.press('Escape')
      await tab.locator('.panel').waitFor({ state: 'hidden' })
      assert.equal(
        await tab.evaluate("document.querySelector('gatehouse-inbox').shadowRoot.activeElement.className"),
        'bell',
      )
    },
  )

  const streams = async () => {
    const metrics = await (await fetch(program?.metricsUrl ?? '')).text()
    return Number(/^notify_inbox_streams (\d+)$/m.exec(metrics)?.[1])
  }

  testWith(
    'chromium',
    'the windows of a browser share one stream, and when its holder closes another goes on',
    async () => {
      const others = await streams()
      const context = await browser?.newContext()
      const tabs: Page[] = []
      for (let n = 0; n < 3; n++) {
        const tab = (await context?.newPage()) ?? assert.fail('there is no browser')
        await tab.goto(`${program?.url}/dev/inbox`)
        await tab.locator('.bell').waitFor()
        tabs.push(tab)
      }
      const [holder, ...left] = tabs
      const before = Number(await holder?.locator('.badge').textContent())
      await notify()
      await Promise.all(tabs.map((tab) => badge(tab, before + 1)))
      assert.equal(await streams(), others + 1)
      await holder?.close()
      await notify()
      await Promise.all(left.map((tab) => badge(tab, before + 2)))
      await notify()
      await Promise.all(left.map((tab) => badge(tab, before + 3)))
      assert.equal(await streams(), others + 1)
      await context?.close()
    },
  )

  testWith('chromium', 'a service that can not be reached is asked more and more rarely', async () => {
    const tab = (await browser?.newPage()) ?? assert.fail('there is no browser')
    let requests = 0
    await tab.route('**/v1/users/**', (route) => {
      requests++
      return route.abort()
    })
    await tab.goto(`${program?.url}/dev/inbox`)
    await tab.evaluate("(async () => { for (let n = 0; n < 60; n++) await fetch('/healthz') })()")
    assert.ok(requests >= 1 && requests < 12, `${requests} times`)
    await tab.close()
  })

  testWith('chromium', 'a click that the page reports for an item moves the state of its delivery', async () => {
    const tab = shown()
    const reported = tab.evaluate(`new Promise((resolve) => {
      const inbox = document.querySelector('gatehouse-inbox')
      inbox.addEventListener('gatehouse-open', async ({ detail: { item } }) => {
        const { receipt_token, ...without } = item
        resolve([item.id, await inbox.clicked(item, 'https://shop.example/orders'), await inbox.clicked(without)])
      }, { once: true })
    })`) as Promise<[string, boolean, boolean]>
    await tab.locator('.bell').click()
    await tab.locator('li.item button.open').first().click()
    const [item, accepted, acceptedWithout] = await reported
    assert.deepEqual([accepted, acceptedWithout], [true, false])
    const mailbox = await fetch(`${program?.url}/dev/mailbox`, { headers: { accept: 'application/json' } })
    const { messages } = (await mailbox.json()) as { messages: Array<{ id: string; state: string }> }
    assert.equal(messages.find(({ id }) => id === item)?.state, 'clicked')
    await tab.keyboard.press('Escape')
  })

  testWith('chromium', 'a channel that is switched off in the preferences stays off', async () => {
    const tab = shown()
    const box = () => tab.locator('fieldset', { hasText: 'Comment added' }).getByLabel('Push')
    const open = async () => {
      await tab.locator('.bell').click()
      await tab.locator('[data-key=preferences]').click()
      await box().waitFor()
    }
    await open()
    const saved = tab.waitForResponse((answer) => answer.request().method() === 'PATCH')
    await box().uncheck()
    assert.equal((await saved).status(), 200)
    await tab.keyboard.press('Escape')
    await open()
    assert.equal(await box().isChecked(), false)
    await tab.keyboard.press('Escape')
  })

  testWith(
    'chromium',
    'an accessibility check finds no fault: list and preferences, light and dark, wide and narrow',
    async () => {
      const tab = shown()
      await everyLook(tab, async (look) => {
        await tab.reload()
        await tab.locator('.bell').click()
        await tab.locator('li.item').first().waitFor()
        await faultless(tab, `list ${look}`)
        await tab.locator('[data-key=preferences]').click()
        await tab.locator('fieldset').first().waitFor()
        await faultless(tab, `preferences ${look}`)
      })
    },
  )
})
