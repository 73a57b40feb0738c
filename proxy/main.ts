#!/usr/bin/env -S node --max-semi-space-size=16
// The program by the name that service files and images of before start it by.
import './main.mjs';
