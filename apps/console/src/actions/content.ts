import { dangerous, editors, everybody, read, write } from './action.ts'

/** What is done with event types and templates. */
export const content = {
  readEventType: read('eventTypes.get', everybody),
  saveEventType: write('eventTypes.update', editors, 'eventTypes.list', 'eventTypes.get'),
  deleteEventType: dangerous('eventTypes.delete', editors, 'eventTypes.list', 'eventTypes.get'),
  listTemplates: read('templates.list', everybody),
  listVersions: read('templates.versions.list', everybody),
  readVersion: read('templates.versions.get', everybody),
  readText: read('templates.texts.get', everybody),
  saveText: write(
    'templates.update',
    editors,
    'templates.list',
    'templates.versions.list',
    'templates.texts.get',
    'templates.preview',
  ),
  publishText: write(
    'templates.publish',
    editors,
    'templates.list',
    'templates.versions.list',
    'templates.texts.get',
    'templates.preview',
  ),
  withdrawText: write(
    'templates.delete',
    editors,
    'templates.list',
    'templates.versions.list',
    'templates.texts.get',
    'templates.preview',
  ),
  previewTemplate: read('templates.preview', everybody),
  testTemplate: write('templates.test', editors),
  readSamples: read('templates.samples.get', everybody),
  saveSamples: write('templates.samples.update', editors, 'templates.samples.get'),
}
