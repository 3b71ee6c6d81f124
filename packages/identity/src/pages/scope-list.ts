import { type Html, html, type Texts } from '@gatehouse/kit/page'
import type { Access } from '../model/grants/consent.ts'

/** The requested access as a list, with the other services that it is for. */
export function accessList(texts: Texts, { scopes, claims, resources }: Access): Html {
  const lines = describeAccess(texts, { scopes, claims })
  return html`<ul class="grants">${(lines.length > 0 ? lines : [texts.say('consent.nothing')]).map((line) => html`<li>${line}</li>`)}</ul>
${resources.length > 0 && html`<p class="soft">${texts.say('consent.resources', { resources: resources.join(', ') })}</p>`}`
}

/** Describes scopes and claims. */
export function describeAccess(texts: Texts, { scopes, claims }: Pick<Access, 'scopes' | 'claims'>): string[] {
  return [...scopes.map((scope) => describeScope(texts, scope)), ...claims.map((claim) => texts.say(`claim.${claim}`))]
}

/** Describes a scope: by its own text if there is one, else by its verb and resource. */
function describeScope(texts: Texts, scope: string): string {
  if (texts.has(`scope.${scope}`)) return texts.say(`scope.${scope}`)
  const [verb = '', resource] = scope.split(/:(.*)/s)
  if (resource && texts.has(`scope.${verb}`)) return texts.say(`scope.${verb}`, { resource })
  return texts.say('scope.other', { scope })
}
