import type { TemplateText } from '../templates/template.ts'

export type TemplateKey = Pick<TemplateText, 'templateId' | 'channel' | 'locale'>

export interface Templates {
  publishedOnly(): Promise<readonly TemplateText[]>
  /** Every version of the texts of a template, newest first, and which are published. */
  versions(templateId: string): Promise<ReadonlyArray<TemplateText & { readonly published: boolean }>>
  /** Stores a new version and answers its number; publishes it unless told otherwise. */
  save(text: Omit<TemplateText, 'version'>, publish: boolean, now: number): Promise<number>
  /** Makes a stored version the one in use. False when there is no such version. */
  publish(key: TemplateKey, version: number, now: number): Promise<boolean>
  /** Takes a text out of use; its versions stay. */
  withdraw(key: TemplateKey): Promise<boolean>
}
