import { html, type PageAnswer, type Texts } from '@gatehouse/kit/page'

/** The content of the page that shows new recovery codes. */
export interface RecoveryCodesPage {
  readonly codes: readonly string[]
  /** Where the page leads on, and the sealed continuation that is resumed there. */
  readonly to: string
  readonly continuation?: string
  /** By form when the address would be too long. Default: by its address. */
  readonly method?: 'get' | 'post'
  readonly formTargets?: readonly string[]
}

/** The page that shows new recovery codes, this once. */
export function recoveryCodesPage(texts: Texts, page: RecoveryCodesPage): PageAnswer {
  const title = texts.say('recovery.title')
  return {
    title,
    formTargets: page.formTargets ?? [],
    body: html`<h1>${title}</h1>
<p class="lead" role="status">${texts.say('recovery.lead')}</p>
<ul class="codes">${page.codes.map((code) => html`<li><code>${code}</code></li>`)}</ul>
<p class="note careful">${texts.say('recovery.once')}</p>
<form method="${page.method ?? 'get'}" action="${page.to}">
${page.continuation !== undefined && html`<input type="hidden" name="continuation" value="${page.continuation}">`}
<div class="actions"><button type="submit">${texts.say('recovery.submit')}</button></div>
</form>`,
  }
}
