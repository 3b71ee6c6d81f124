import { readdir, readFile } from 'node:fs/promises'
import { canonicalLocale, StartError } from '@gatehouse/kit'
import { isChannel } from '../model/channel.ts'
import { checkTemplate, TemplateError, type TemplateText } from './template.ts'

/** A text as a templates folder declares it. */
export type TemplateDeclaration = Omit<TemplateText, 'version'>

/**
 * Reads a templates folder: `<template_id>/<channel>.<locale>.liquid`, where `subject: …` and a line `---` may come
 * before the body, and `email.<locale>.html.liquid` for the HTML beside an email's text. Throws {@link StartError} that
 * names the file at fault.
 */
export async function readTemplates(folder: URL): Promise<TemplateDeclaration[]> {
  const base = folder.href.endsWith('/') ? folder : new URL(`${folder.href}/`)
  const names = await readdir(base, { recursive: true }).catch((error: Error) => {
    throw new StartError(`the templates folder ${base.pathname} can't be read: ${error.message}`)
  })
  const texts = new Map<string, Partial<TemplateDeclaration>>()
  for (const name of names.filter((each) => each.endsWith('.liquid')).sort()) {
    const place = placeOf(name)
    const key = JSON.stringify([place.templateId, place.channel, place.locale])
    const written = await readFile(new URL(encodeURI(name), base), 'utf8')
    texts.set(key, { ...texts.get(key), ...place.key, ...(place.isHtml ? { html: written } : partsOf(written)) })
  }
  return [...texts.values()].map((text) => checkTemplates({ body: '', ...text } as TemplateDeclaration))
}

const fileName = /^(.+)[/\\]([\w-]+)\.([\w-]+)(\.html)?\.liquid$/

function placeOf(name: string) {
  const [, templateId, channel, tag, html] = fileName.exec(name) ?? []
  const locale = tag && canonicalLocale(tag)
  if (!templateId || !channel || !isChannel(channel) || !locale)
    throw new StartError(`the template ${name} must be named <template_id>/<channel>.<locale>.liquid`)
  if (html && channel !== 'email') throw new StartError(`the template ${name}: only email has an HTML body`)
  return { templateId, channel, locale, isHtml: html !== undefined, key: { templateId, channel, locale } }
}

function partsOf(written: string): { subject?: string; body: string } {
  const [, subject, body] = /^subject:[ \t]*(.*)\r?\n---\r?\n([\s\S]*)$/.exec(written) ?? []
  return subject === undefined || body === undefined ? { body: written } : { subject, body }
}

function checkTemplates(text: TemplateDeclaration): TemplateDeclaration {
  try {
    checkTemplate({ ...text, version: 0 })
    return text
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    const file = `${text.templateId}/${text.channel}.${text.locale}.liquid`
    throw new StartError(`the template ${file}: ${error.message}`, { cause: error })
  }
}
