import { dangerous, editors, everybody, read, write } from './action.ts'

/** What is done with event types and templates. */
export const content = {
  readEventType: read('eventTypes.get', everybody),
  saveEventType: dangerous('eventTypes.update', editors, 'eventTypes.list', 'eventTypes.get'),
  simulateEventType: read('eventTypes.simulate', everybody),
  deleteEventType: dangerous('eventTypes.delete', editors, 'eventTypes.list', 'eventTypes.get'),
  listTemplates: read('templates.list', everybody),
  listVersions: read('templates.versions.list', everybody),
  readVersion: read('templates.versions.get', everybody),
  readText: read('templates.texts.get', everybody),
  // A draft is everyday work; one that is published at once is not, and the API says so.
  saveText: write(
    'templates.update',
    editors,
    'templates.list',
    'templates.versions.list',
    'templates.texts.get',
    'templates.preview',
  ),
  publishText: dangerous(
    'templates.publish',
    editors,
    'templates.list',
    'templates.versions.list',
    'templates.texts.get',
    'templates.preview',
  ),
  withdrawText: dangerous(
    'templates.delete',
    editors,
    'templates.list',
    'templates.versions.list',
    'templates.texts.get',
    'templates.preview',
  ),
  previewTemplate: read('templates.preview', everybody),
  testTemplate: dangerous('templates.test', editors),
  readSamples: read('templates.samples.get', everybody),
  saveSamples: write('templates.samples.update', editors, 'templates.samples.get'),
}
