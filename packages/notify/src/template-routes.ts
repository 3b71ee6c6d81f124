import type { Http } from '@gatehouse/kit'
import * as schemas from './api/schemas/index.ts'
import { previewTemplate } from './api/templates/preview.ts'
import { getSamples, updateSamples } from './api/templates/samples.ts'
import { testTemplate } from './api/templates/test-send.ts'
import * as templates from './api/templates/texts.ts'
import { createRouteBuilders } from './request/route-options.ts'
import type { RouteContext } from './route-context.ts'

/** The texts of messages. */
export function templateRoutes(http: Http, context: RouteContext): void {
  const { allow, allowRecent } = createRouteBuilders(context.access)
  const defaultLocale = context.options.locale
  const texts = { ...context, store: context.store.templates, defaultLocale }
  const { listTemplates, listVersions, getText, getVersion, updateText, withdrawText, publishText } = templates
  const template = '/v1/templates/:template_id'
  const text = `${template}/:channel/:locale`
  http.get('/v1/templates', allow('readSettings', schemas.listTemplates), listTemplates(texts))
  http.get(template, allow('readSettings', schemas.listVersions), listVersions(texts))
  http.get(text, allow('readSettings', schemas.getText), getText(texts))
  http.get(`${text}/:version`, allow('readSettings', schemas.getVersion), getVersion(texts))
  http.put(text, allow('manage', schemas.updateText), updateText(texts))
  http.delete(text, allowRecent('manage', schemas.withdrawText), withdrawText(texts))
  http.post(`${text}/publish`, allowRecent('manage', schemas.publishText), publishText(texts))
  const sampled = { ...context, samples: context.store.templateSamples }
  http.get(`${template}/samples`, allow('readSettings', schemas.getSamples), getSamples(sampled))
  http.put(`${template}/samples`, allow('manage', schemas.updateSamples), updateSamples(sampled))
  const shown = { ...context, defaultLocale }
  http.post(`${template}/preview`, allow('readSettings', schemas.previewTemplate), previewTemplate(shown))
  http.post(`${template}/test`, allowRecent('manage', schemas.testTemplate), testTemplate(shown))
}
