import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import { type Browser, chromium, type Page } from 'playwright-core'
import { runSnippet } from '../snippets/run.ts'
import { faultless } from '../support/accessibility.ts'
import { seededPassword, signInOnPages, watchFaults } from '../support/console.ts'
import { type Program, started } from '../support/program.ts'
import { loaded } from './page.ts'

describe('from the first start to a delivered message, in a browser', () => {
  let program: Program | undefined
  let browser: Browser | undefined
  let page: Page | undefined
  let faults: string[] = []
  before(async () => {
    const executablePath = findProgram('chromium')
    if (executablePath === undefined) return
    program = await started()
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    page = await browser.newPage({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' })
    page.setDefaultTimeout(60_000)
    faults = watchFaults(page, (text) => text.startsWith('Failed to load resource'))
  })
  after(async () => {
    await browser?.close()
    await program?.stop()
  })
  const tab = () => page ?? assert.fail('there is no page')
  const heading = (name: string) => tab().getByRole('heading', { level: 1, name, exact: true }).waitFor()

  testWith(
    'chromium',
    'a new owner makes a client, sends a notification, sees it delivered and the step done',
    async () => {
      const printed = program?.stdout() ?? ''
      const [, url = ''] = /Console +(\S+)/.exec(printed) ?? []
      await tab().goto(url)
      await signInOnPages(tab(), 'alice', seededPassword(printed))
      await heading('Overview')
      await tab().getByRole('link', { name: 'Get started', exact: true }).click()
      await heading('Get started')
      const step = tab().getByRole('listitem').filter({ hasText: 'Send a first notification' })
      await step.getByRole('button', { name: 'Create a client that sends' }).click()
      const secret = ((await step.locator('code.secret').textContent()) ?? '').trim()
      const snippet = (await step.getByRole('region', { name: 'curl' }).textContent()) ?? ''
      assert.ok(secret.length > 30 && !snippet.includes(secret), 'the secret is in no program')
      await faultless(tab(), 'the secret of the first client')
      const sent = JSON.parse(await runSnippet('curl', snippet, { GATEHOUSE_CLIENT_SECRET: secret }))
      assert.ok(sent.deliveries.some(({ outcome }: { outcome: string }) => outcome === 'queued'))

      await step.getByRole('link', { name: 'See what becomes of it' }).click()
      await heading('Notifications')
      await tab()
        .getByRole('link', { name: sent.id })
        .or(tab().locator(`a[href$="${sent.id}"]`))
        .first()
        .click()
      await tab().waitForURL(new RegExp(sent.id))
      const mailbox = (await browser?.newPage()) ?? assert.fail('there is no browser')
      await mailbox.goto(`${program?.url}/dev/mailbox`)
      await mailbox.locator('#list a').first().click()
      await mailbox.getByRole('button', { name: 'Delivered' }).click()
      await mailbox.locator('.states .delivered.reached').waitFor()
      await mailbox.close()
      await tab().getByText('delivered', { exact: true }).first().waitFor()

      await tab().goto(`${program?.url}/console/start`)
      await heading('Get started')
      await loaded(tab())
      await step.getByText('done', { exact: true }).waitFor()
      assert.equal(await tab().getByText(secret).count(), 0, 'the secret is shown once')
      assert.deepEqual(faults, [])
    },
  )
})
