export { type Behaviour, createScript, type Fake, type FakeReport, type Script } from './fake.ts'
