import { html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import type { Access } from '../model/grants/consent.ts'
import { deviceName } from './device-name.ts'
import { accessList } from './scope-list.ts'

/** The content of the page for user codes. */
export interface DevicePage {
  readonly formToken: string
  readonly code?: string | undefined
  readonly wrong?: string | undefined
  readonly status?: number
}

/** The page where a user enters a code. */
export function devicePage(texts: Texts, { formToken, code, wrong, status }: DevicePage): PageAnswer {
  const title = texts.say('device.title')
  return {
    title,
    status: status ?? 200,
    body: html`<h1>${title}</h1>
<p class="lead">${texts.say('device.lead')}</p>
${wrong !== undefined && html`<p class="note wrong" role="alert">${wrong}</p>`}
<form method="post" action="/device">
<input type="hidden" name="form_token" value="${formToken}">
<label for="user_code">${texts.say('device.code')}</label>
<input class="code" id="user_code" name="user_code" value="${code ?? ''}" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="20" required autofocus>
<div class="actions"><button type="submit">${texts.say('device.submit')}</button></div>
</form>`,
  }
}

/** The content of the confirmation page. */
export interface DeviceConfirmPage {
  readonly formToken: string
  readonly continuation: string
  readonly code: string
  readonly client: string
  readonly user: string
  /** The name of the organization that the device acts for. */
  readonly organization: string | undefined
  readonly access: Access
  readonly address: string
  readonly userAgent: string
}

/** The page that asks whether to connect a device. */
export function deviceConfirmPage(texts: Texts, page: DeviceConfirmPage): PageAnswer {
  const { client, user, code, address, organization } = page
  const title = texts.say('device.confirm.title', { client })
  return {
    title,
    body: html`<h1>${title}</h1>
<p class="lead">${texts.say('device.confirm.lead', { user, code })}</p>
${accessList(texts, page.access)}
${organization !== undefined && html`<p class="soft">${texts.say('consent.organization', { organization })}</p>`}
<p class="soft">${texts.say('device.confirm.where', { address, agent: deviceName(page.userAgent) })}</p>
<p class="note careful">${texts.say('device.confirm.warning')}</p>
<form method="post" action="/device/decision">
<input type="hidden" name="form_token" value="${page.formToken}">
<input type="hidden" name="continuation" value="${page.continuation}">
<div class="actions">
<button class="quiet" type="submit" name="decision" value="deny">${texts.say('device.deny')}</button>
<button type="submit" name="decision" value="allow">${texts.say('device.allow')}</button>
</div>
</form>`,
  }
}
