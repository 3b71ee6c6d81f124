import { type Html, html, type Texts } from '@gatehouse/kit/page'

/** What scopes mean, as a list for people. */
export function scopeList(texts: Texts, scopes: readonly string[]): Html {
  const lines = scopes.length > 0 ? scopes.map((scope) => meaning(texts, scope)) : [texts.say('consent.nothing')]
  return html`<ul class="grants">${lines.map((line) => html`<li>${line}</li>`)}</ul>`
}

/** A scope in words: its own text if there is one, else what its verb says about its resource. */
export function meaning(texts: Texts, scope: string): string {
  if (texts.has(`scope.${scope}`)) return texts.say(`scope.${scope}`)
  const [verb = '', resource] = scope.split(/:(.*)/s)
  if (resource && texts.has(`scope.${verb}`)) return texts.say(`scope.${verb}`, { resource })
  return texts.say('scope.other', { scope })
}
